// The decoder of circuitcore/models/transformer.py in the page: same names, same order of operations, on Float32Array.
// A classic script without dependencies; it defines `circuitDecoder`:
//   unpack(packed, index) -> a model: one checkpoint of what livingpaper/explorer/weights.py packs
//   forward(model, inputs) -> { logits, cache }
//   piece, linear, norm, unembed: steps of it, for attribution.js
// `inputs` are token ids, or vectors where the config has d_in. Arrays are row-major; shapes stand in brackets.
globalThis.circuitDecoder = (() => {
  'use strict';
  const ROPE_BASE = 10000;

  // Base64 text -> Float32Array of exactly `count` finite numbers; whoever unpacks says whose weights are damaged.
  function numbers(text, dtype, count) {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
    const out = new Float32Array(bytes.buffer); // the text is little endian, as every machine that shows pages
    if (dtype !== 'float32' || out.length !== count || !out.every(Number.isFinite)) throw new Error('damaged weights');
    return out;
  }

  function unpack(packed, index) {
    const sizes = packed.tensors.map(([, shape]) => shape.reduce((product, n) => product * n, 1));
    const count = sizes.reduce((sum, size) => sum + size, 0), { config } = packed, weights = {};
    const all = numbers(packed.checkpoints[index].data, packed.dtype, count);
    let start = 0;
    packed.tensors.forEach(([name], i) => { weights[name] = all.subarray(start, start += sizes[i]); });
    if (config.tied) {
      const E = weights['embed.W_E'], { d_model: d, d_vocab: nTokens } = config;
      weights['unembed.W_U'] = E.map((_, at) => E[(at % nTokens) * d + Math.floor(at / nTokens)]);
    }
    return { config, weights };
  }

  // x [n in] @ weight [in out] + bias [out] -> [n out]
  function linear(x, weight, bias, nIn, nOut) {
    const n = x.length / nIn, out = new Float32Array(n * nOut), row = new Float64Array(nOut);
    for (let i = 0; i < n; i++) {
      if (bias) row.set(bias);
      else row.fill(0);
      for (let j = 0; j < nIn; j++) {
        const value = x[i * nIn + j], at = j * nOut;
        if (value !== 0) for (let k = 0; k < nOut; k++) row[k] += value * weight[at + k];
      }
      out.set(row, i * nOut);
    }
    return out;
  }

  const piece = (x, number, size) => x.subarray(number * size, (number + 1) * size);
  const plus = (a, b) => a.map((value, i) => value + b[i]);

  // erf by a series of positive terms, exact to double precision.
  function erf(x) {
    const size = Math.abs(x);
    if (size > 6) return Math.sign(x);
    let term = size, sum = size;
    for (let n = 1; term > 1e-17 * sum; n++) sum += term *= (2 * size * size) / (2 * n + 1);
    return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * Math.exp(-size * size) * sum;
  }

  const ACTIVATIONS = {
    relu: x => (x > 0 ? x : 0),
    gelu: x => 0.5 * x * (1 + erf(x / Math.SQRT2)),
    silu: x => x / (1 + Math.exp(-x)),
  };

  // The norm called `name` on every row of x [n d_model]; with the scale of `whole`, and no shift, on a part of it.
  function norm({ config, weights }, name, x, whole = x) {
    if (config.norm === 'none') return x;
    const d = config.d_model, gain = weights[`${name}.w`], shift = whole === x && weights[`${name}.b`];
    const centre = row => (config.norm === 'layer' ? row.reduce((sum, value) => sum + value / d, 0) : 0);
    const out = new Float32Array(x.length);
    for (let i = 0; i < x.length / d; i++) {
      const row = piece(x, i, d), all = piece(whole, i, d), mean = centre(row), middle = centre(all);
      const scale = 1 / Math.sqrt(all.reduce((sum, value) => sum + (value - middle) ** 2 / d, 0) + config.norm_eps);
      out.set(row.map((value, c) => (value - mean) * scale * gain[c] + (shift ? shift[c] : 0)), i * d);
    }
    return out;
  }

  // Rotary positions on x [n d_head], interleaved pairs of channels, in place.
  function rotate(x, dHead) {
    for (let at = 0; at < x.length; at += 2) {
      const angle = Math.floor(at / dHead) * ROPE_BASE ** (-(at % dHead) / dHead);
      const cos = Math.cos(angle), sin = Math.sin(angle), even = x[at], odd = x[at + 1];
      x[at] = even * cos - odd * sin;
      x[at + 1] = even * sin + odd * cos;
    }
  }

  function embed({ config, weights }, inputs) {
    const { d_model: d, d_vocab: nTokens, d_in: dIn, n_ctx: nCtx } = config, n = inputs.length;
    if (!n) throw new Error('no input');
    if (n > nCtx) throw new Error(`${n} positions, but the model was built for at most ${nCtx}`);
    let x;
    if (dIn) {
      x = linear(Float32Array.from(inputs.flatMap(vector => [...vector])), weights['embed.W_in'], null, dIn, d);
    } else {
      x = new Float32Array(n * d);
      inputs.forEach((token, i) => {
        if (!Number.isInteger(token) || token < 0 || token >= nTokens) throw new Error(`no token ${token}`);
        x.set(piece(weights['embed.W_E'], token, d), i * d);
      });
    }
    return config.positions === 'learned' ? plus(x, weights['pos_embed.W_pos']) : x;
  }

  // Patterns [head query key], -inf before softmax where a key is ahead or cut; and the values they mix, z.
  function mixed(q, k, v, { n_heads: nHeads, d_head: dHead }, isCut) {
    const width = nHeads * dHead, n = q.length / width, z = new Float32Array(q.length);
    const patterns = new Float32Array(nHeads * n * n);
    for (let at = 0; at < nHeads * n; at++) {
      const i = at % n, head = Math.floor(at / n), start = head * dHead, pattern = piece(patterns, at, n);
      const scores = new Float64Array(i + 1), row = new Float64Array(dHead);
      for (let j = 0; j <= i; j++) {
        let product = 0;
        for (let c = start; c < start + dHead; c++) product += q[i * width + c] * k[j * width + c];
        scores[j] = isCut(head, i, j) ? -Infinity : product / Math.sqrt(dHead);
      }
      const top = Math.max(...scores);
      let sum = 0;
      for (let j = 0; j <= i; j++) sum += scores[j] = Math.exp(scores[j] - top);
      for (let j = 0; j <= i; j++) {
        pattern[j] = scores[j] / sum;
        for (let c = 0; c < dHead; c++) row[c] += pattern[j] * v[j * width + start + c];
      }
      z.set(row, i * width + start);
    }
    return { patterns, z };
  }

  // What the heads of a layer write, [n d_model].
  function attention({ config, weights }, layer, x, at) {
    const { d_model: d, d_head: dHead, n_heads: nHeads } = config, width = nHeads * dHead, n = x.length / d;
    const name = `blocks.${layer}.attn`;
    const [q, k, v] = ['Q', 'K', 'V'].map(site => {
      const out = new Float32Array(n * width);
      for (let head = 0; head < nHeads; head++) {
        const weight = piece(weights[`${name}.W_${site}`], head, d * dHead), bias = weights[`${name}.b_${site}`];
        const found = linear(x, weight, bias && piece(bias, head, dHead), d, dHead);
        if (config.positions === 'rope' && site !== 'V') rotate(found, dHead);
        for (let i = 0; i < n; i++) out.set(piece(found, i, dHead), i * width + head * dHead);
      }
      return at.site(site.toLowerCase(), layer, out);
    });
    const { patterns, z } = mixed(q, k, v, config, (...edge) => at.isCut(layer, ...edge));
    at.cache[`pattern.${layer}`] = patterns;
    return linear(at.site('z', layer, z), weights[`${name}.W_O`], weights[`${name}.b_O`], width, d);
  }

  // What the MLP of a layer writes, [n d_model].
  function mlp({ config, weights }, layer, x, at) {
    const { d_model: d, d_mlp: width, mlp: kind } = config, name = `blocks.${layer}.mlp`;
    const into = part => linear(x, weights[`${name}.W_${part}`], weights[`${name}.b_${part}`], d, width);
    let hidden = into('in');
    if (kind === 'swiglu') {
      const gate = into('gate');
      hidden = hidden.map((up, i) => ACTIVATIONS.silu(gate[i]) * up);
    } else hidden = hidden.map(ACTIVATIONS[kind]);
    hidden = at.site('mlp_post', layer, hidden);
    return at.site('mlp_out', layer, linear(hidden, weights[`${name}.W_out`], weights[`${name}.b_out`], width, d));
  }

  // A pass without edits: all that its cache gets is what the network makes.
  function plain() {
    const cache = {};
    return { cache, isCut: () => false, site: (name, layer, value) => (cache[`${name}.${layer}`] = value) };
  }

  const unembed = ({ config: { d_model: d, d_vocab: nTokens }, weights }, x, bias) =>
    linear(x, weights['unembed.W_U'], bias, d, nTokens);

  // `at`: what is called on the way; of a pass with edits see edits.js. Returns logits [n d_vocab] and the cache: every
  // site of circuitcore/models/sites.py but scores and result.
  function forward(model, inputs, at = plain()) {
    const { config } = model, { n_layers: nLayers } = config;
    const pre = config.norm_position === 'pre', before = (name, x) => (pre ? norm(model, name, x) : x);
    const after = (name, x) => (pre ? x : norm(model, name, x));
    let x = embed(model, inputs);
    for (let layer = 0; layer < nLayers; layer++) {
      const [ln1, ln2] = [`blocks.${layer}.ln1`, `blocks.${layer}.ln2`];
      x = at.site('resid_pre', layer, x);
      x = at.site('resid_mid', layer, after(ln1, plus(x, attention(model, layer, before(ln1, x), at))));
      if (config.mlp !== 'none') x = after(ln2, plus(x, mlp(model, layer, before(ln2, x), at)));
      x = at.site('resid_post', layer, x);
    }
    x = at.site('resid_final', nLayers - 1, before('ln_final', x));
    return { logits: unembed(model, x, model.weights['unembed.b_U']), cache: at.cache };
  }

  return { unpack, forward, piece, linear, norm, unembed };
})();
