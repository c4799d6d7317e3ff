// The moves of a circuit on a prompt: where they go, how wide, and what tests of this network at this checkpoint say of
// them, by the rules of livingpaper/explorer/moves.py. Defines `circuitMoves`.
// A circuit: { layers, tokens: [{ word, tone }], links: [{ move, number, head, heads, effect, isSupported, arrows }],
// looks: [arrow], answer: { word, tone, probability, wanted } }; an arrow: { layer, source, target or null for the
// answer, weight or null for no attention, brings, head }.
globalThis.circuitMoves = (() => {
  'use strict';
  const FAINTEST = 0.1, EARLIER = 1, AFTER = 2;

  function places(form, words) {
    const [query, pairs] = form.lookup ?? [null, []], values = pairs.map(([, value]) => value);
    const asked = circuitLookup.asked(form, words), shown = asked.map(([, value]) => value);
    return {
      keys: pairs.map(([key]) => key), values, query: query === null ? [] : [query],
      'asked key': asked.map(([key]) => key), 'asked value': shown,
      'other values': asked.length ? values.filter(at => !shown.includes(at)) : [], last: [words.length - 1],
      answer: [null],
    };
  }

  function tonesOf({ slots, open }, words, tones) {
    if (open === null) return slots.map(([name]) => tones[circuitLookup.kindOf(name)] ?? 0);
    const end = words.length - 1, earlier = [...words.keys()].filter(at => at < end && words[at] === words[end]);
    return words.map((word, at) => (!earlier.length ? 0 : at === earlier.at(-1) + 1 ? AFTER
      : word === words[end] ? EARLIER : 0));
  }

  // Attention of each head: [layer][head](target, source).
  function looking({ cache }, { n_layers: layers, n_heads: heads }, n) {
    return Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (_, head) =>
      (target, source) => cache[`pattern.${layer}`][(head * n + target) * n + source]));
  }

  function arrowsOf({ layer, source: from, target: to, brings, looks }, words, where, look) {
    const [sources, targets] = [where[from], where[to]], end = words.length - 1;
    const pairs = sources.length === 1 || targets.length === 1
      ? sources.flatMap(source => targets.map(target => [source, target]))
      : sources.map((source, i) => [source, targets[i]]);
    const seen = looks === 'anywhere' ? [...words.keys()] : where[looks];
    if (seen?.length === 0) return []; // nothing is asked for
    const weight = seen ? Math.max(...seen.map(at => look(end, at))) : null;
    return pairs.map(([source, target]) => (target === null ? { layer: layer + 1, source, target, weight, brings: '' }
      : { layer, source, target, weight: look(target, source), brings: brings ? words[source] : '' }));
  }

  // What no link is: the strongest head of each layer, as far as the answer can depend on what it looks at.
  // `from`: the position at which the answer is read.
  function attentionAlone(looks, n, done, from = n - 1) {
    const reach = Array(n).fill(0), found = [];
    reach[from] = 1;
    for (const layer of [...looks.keys()].reverse()) {
      const before = [...reach];
      for (let target = 0; target < n; target++) {
        for (let source = 0; source <= target; source++) {
          const weights = looks[layer].map(look => look(target, source)), most = Math.max(...weights);
          const weight = Math.min(1, most), way = weight * before[target];
          reach[source] = Math.max(reach[source], way);
          if (way < FAINTEST || done.has(`${layer} ${source} ${target}`)) continue;
          found.push({ layer, source, target, weight, brings: '', head: `L${layer}H${weights.indexOf(most)}` });
        }
      }
    }
    return found;
  }

  // moves, tones: of the exhibit; tests: move -> { heads, effect, isSupported }, as far as there are any.
  function circuitOn({ moves, tones }, tests, { asked, model, now }, wordOf) {
    const { words, form, answer } = asked, where = places(form, words), p = now.probabilities[now.top];
    const looks = looking(now.result, model.config, words.length);
    const links = moves.flatMap((move, i) => {
      const tested = tests[move.name];
      if (!tested) return [];
      const own = tested.heads.map(head => /^L(\d+)H(\d+)$/.exec(head)).filter(Boolean)
        .map(([, layer, head]) => looks[layer][head]);
      const look = (target, source) =>
        Math.min(1, own.reduce((sum, of) => sum + of(target, source), 0) / (own.length || 1));
      const arrows = arrowsOf(move, words, where, look);
      return arrows.length ? [{ ...tested, move, number: i + 1, arrows }] : [];
    });
    const done = new Set(links.flatMap(({ arrows }) => arrows).map(a => `${a.layer} ${a.source} ${a.target}`));
    const tone = tonesOf(form, words, tones);
    return {
      layers: model.config.n_layers, links, looks: attentionAlone(looks, words.length, done),
      tokens: words.map((word, at) => ({ word, tone: tone[at] })),
      answer: { word: wordOf(now.top), tone: AFTER, probability: Math.min(1, p), wanted: answer },
    };
  }

  return { circuitOn, attentionAlone, looking };
})();
