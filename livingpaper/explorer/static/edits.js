// Edits as texts, as circuitcore/models/edit_text.py reads them, and a forward pass under them. Defines `circuitEdits`;
// needs `circuitDecoder`. What is wrong is said in the words of Python.
globalThis.circuitEdits = (() => {
  'use strict';
  const ALLOWED = 'zero(L1H0)@all, mean(L0MLP)@12, resample(L1H1)@all, patch(L1.resid_post<-source)@12 ' +
    'or cut(L1H0:15->8)';
  const HEAD_SITES = ['q', 'k', 'v', 'z']; // those [pos head d_head]
  const RECORD_ONLY = ['scores', 'pattern', 'result'];
  const STREAM_SITES = ['resid_pre', 'resid_mid', 'resid_post', 'mlp_out', 'mlp_post', 'resid_final'];
  const SITES = [...STREAM_SITES, ...HEAD_SITES, ...RECORD_ONLY];
  const SHAPES = [
    '(?<kind>zero|mean|resample)\\(L(?<layer>N)(?:H(?<head>N)|MLP)\\)@(?<positions>\\w+)',
    '(?<kind>patch)\\(L(?<layer>N)(?:H(?<head>N))?\\.(?<site>\\w+)<-(?<source>\\w+)\\)@(?<positions>\\w+)',
    '(?<kind>cut)\\(L(?<layer>N)H(?<head>N):(?<query>\\w+)->(?<key>\\w+)\\)',
  ].map(shape => new RegExp(`^${shape.replaceAll('>N', '>0|[1-9][0-9]*')}$`));

  const fail = sentence => { throw new Error(sentence); };

  // -> { kind, layer, head (or null), ... }: of a cut query and key, else site, source and positions, which stay words.
  function parse(text) {
    const found = SHAPES.map(shape => shape.exec(text)?.groups).find(Boolean);
    if (!found) fail(`an edit is written like ${ALLOWED}; got '${text}'`);
    const { kind, layer, head = null, site = head === null ? 'mlp_out' : 'z', source = kind } = found;
    if (!SITES.includes(site)) fail(`unknown site '${site}'; allowed: ${SITES.join(', ')}`);
    if (kind === 'patch' && head !== null && !HEAD_SITES.includes(site)) {
      fail(`${site} has no head axis to take head ${head} of; those with one: ${HEAD_SITES.join(', ')}`);
    }
    return { ...found, site, source, layer: Number(layer), head: head === null ? null : Number(head) };
  }

  // Texts -> edits of a prompt of n tokens. `caches`: activations by name (mean, resample, source), as far as used.
  function compile(texts, n, caches) {
    const cuts = [], puts = [];
    for (const edit of texts) {
      const { kind, site, layer, head, source, positions, query, key } = parse(edit);
      const position = word => (/^(0|[1-9][0-9]*)$/.test(word) && Number(word) < n ? Number(word)
        : fail(`${edit}: no position ${word}; the prompt has positions 0..${n - 1}`));
      if (kind === 'cut') {
        const [from, to] = [query, key].map(position);
        if (to > from) fail(`${edit}: no such edge; a position attends to itself and to those before it`);
        cuts.push([layer, head, from, to]);
        continue;
      }
      const at = positions === 'all' ? null : [position(positions)];
      const name = `L${layer}${head === null ? '' : `H${head}`}.${site}`;
      if (kind === 'patch' && source !== 'source') fail(`${edit}: a patch takes from the second prompt, <-source`);
      if (RECORD_ONLY.includes(site)) {
        fail(`${name} can be recorded but not patched; patch z, or cut edges with CutEdge`);
      }
      const value = kind === 'zero' ? 0 : caches[source][`${site}.${layer}`];
      puts.push({ site, layer, head, positions: at, value: value ?? fail(`no such part to edit: ${name}`) });
    }
    return { cuts, puts };
  }

  // The mean of caches of equally long prompts, site by site.
  function mean(caches) {
    const middle = all => all[0].map((_, i) => all.reduce((sum, values) => sum + values[i], 0) / all.length);
    return Object.fromEntries(Object.keys(caches[0]).map(site => [site, middle(caches.map(cache => cache[site]))]));
  }

  // Edits as what a forward pass calls. An edit that it does not meet is of a part that is not there.
  function hooks({ cuts = [], puts = [] }, { n_heads: nHeads, d_head: dHead }, n) {
    const cache = {}, edge = (layer, head, query, key) => `L${layer}H${head}:${query}->${key}`;
    const part = ({ site, layer, head }) => `L${layer}${head == null ? '' : `H${head}`}.${site}`;
    const cut = new Set(cuts.map(four => edge(...four))), unmet = new Set([...cut, ...puts.map(part)]);
    const isCut = (layer, head, query, key) => {
      const of = at => edge(layer, head, query, at);
      if (!cut.size || !cut.has(of(key))) return false;
      unmet.delete(of(key));
      return [...Array(query + 1).keys()].some(at => !cut.has(of(at)))
        || fail('these cuts leave a query with no key to attend to; leave at least one, or ablate the head');
    };

    // `value` [pos width] with what is put there; a copy, since neighbouring sites may share an array.
    function replaced(value, put) {
      const { site, head, positions, value: given } = put, width = value.length / n, isWhole = head == null;
      if (given !== 0 && given.length !== value.length) {
        throw new Error(`${part(put)}: ${given.length} numbers given, needed are ${value.length}`);
      }
      const at = positions ?? Array.from({ length: n }, (_, i) => i);
      const isThere = isWhole || (HEAD_SITES.includes(site) && head < nHeads);
      if (!isThere || at.some(i => value[i * width] === undefined)) return value;
      unmet.delete(part(put));
      const out = value.slice(), [first, size] = isWhole ? [0, width] : [head * dHead, dHead];
      for (const start of at.map(i => i * width + first)) {
        if (given === 0) out.fill(0, start, start + size);
        else out.set(given.subarray(start, start + size), start);
      }
      return out;
    }

    return {
      cache,
      unmet,
      isCut,
      // The value of a site after the puts there; the cache keeps it.
      site(name, layer, value) {
        for (const put of puts) if (put.site === name && put.layer === layer) value = replaced(value, put);
        return cache[`${name}.${layer}`] = value;
      },
    };
  }

  // edits: { cuts: [[layer, head, query, key]], puts: [{ site, layer, head, positions, value }] }; head and positions
  // may be null for all. A put replaces a part of a site by zeros (value 0) or by that part of a whole such site.
  function forward(model, inputs, edits) {
    const at = hooks(edits, model.config, inputs.length), found = circuitDecoder.forward(model, inputs, at);
    for (const part of at.unmet) fail(`no such part to edit: ${part}`);
    return found;
  }

  return { parse, compile, mean, forward };
})();
