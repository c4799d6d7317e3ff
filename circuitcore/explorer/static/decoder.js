// The decoder of circuitcore/models/transformer.py in the page: same names, same order of operations, on Float32Array.
// A classic script without dependencies; it defines `circuitDecoder`:
//   unpack(packed, index)           one checkpoint of what circuitcore/explorer/weights.py packs -> a model
//   forward(model, inputs, edits)   -> { logits, patterns }
// `inputs` are token ids, or vectors where the config has d_in. Arrays are row-major; shapes stand in brackets.
globalThis.circuitDecoder = (() => {
  'use strict';
  const ROPE_BASE = 10000;

  // ---- weights ----

  function float16(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
  }

  // Base64 text -> Float32Array of exactly `count` finite numbers.
  function numbers(text, dtype, count) {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const size = { float16: 2, float32: 4 }[dtype];
    if (!size) throw new Error(`weights of unknown type ${dtype}`);
    if (bytes.length !== size * count) throw new Error(`${bytes.length} bytes of weights, needed are ${size * count}`);
    const view = new DataView(bytes.buffer), out = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      out[i] = size === 2 ? float16(view.getUint16(2 * i, true)) : view.getFloat32(4 * i, true);
      if (!Number.isFinite(out[i])) throw new Error('a weight is not a number');
    }
    return out;
  }

  function unpack(packed, index) {
    const length = shape => shape.reduce((product, n) => product * n, 1);
    const count = packed.tensors.reduce((sum, [, shape]) => sum + length(shape), 0);
    const all = numbers(packed.checkpoints[index].data, packed.dtype, count);
    const weights = {};
    let start = 0;
    for (const [name, shape] of packed.tensors) {
      weights[name] = all.subarray(start, start + length(shape));
      start += length(shape);
    }
    return { config: packed.config, weights };
  }

  // ---- arithmetic ----

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

  // The norm called `name` on every row of x [n d_model].
  function norm({ config, weights }, name, x) {
    if (config.norm === 'none') return x;
    const d = config.d_model, gain = weights[`${name}.w`], shift = weights[`${name}.b`], out = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += d) {
      let mean = 0, square = 0;
      if (config.norm === 'layer') for (let i = 0; i < d; i++) mean += x[start + i] / d;
      for (let i = 0; i < d; i++) square += (x[start + i] - mean) ** 2 / d;
      const scale = 1 / Math.sqrt(square + config.norm_eps);
      for (let i = 0; i < d; i++) out[start + i] = (x[start + i] - mean) * scale * gain[i] + (shift ? shift[i] : 0);
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
    return x;
  }

  // ---- the decoder ----

  function embed({ config, weights }, inputs) {
    const { d_model: d, d_vocab: nTokens, d_in: dIn, n_ctx: nCtx } = config, n = inputs.length;
    if (!n) throw new Error('no input');
    if (n > nCtx) throw new Error(`${n} positions, but the model was built for at most ${nCtx}`);
    let x;
    if (dIn) {
      if (inputs.some(vector => vector.length !== dIn)) throw new Error(`every input needs ${dIn} numbers`);
      x = linear(Float32Array.from(inputs.flatMap(vector => [...vector])), weights['embed.W_in'], null, dIn, d);
    } else {
      x = new Float32Array(n * d);
      inputs.forEach((token, i) => {
        if (!Number.isInteger(token) || token < 0 || token >= nTokens) throw new Error(`no token ${token}`);
        x.set(weights['embed.W_E'].subarray(token * d, (token + 1) * d), i * d);
      });
    }
    return config.positions === 'learned' ? plus(x, weights['pos_embed.W_pos']) : x;
  }

  // Attention after softmax, [query key]; -inf before it where the key is ahead or the edge is cut.
  function attend(q, k, dHead, isCut) {
    const n = q.length / dHead, pattern = new Float32Array(n * n);
    for (let i = 0; i < n; i++) {
      const scores = new Float64Array(i + 1);
      for (let j = 0; j <= i; j++) {
        let product = 0;
        for (let c = 0; c < dHead; c++) product += q[i * dHead + c] * k[j * dHead + c];
        scores[j] = isCut(i, j) ? -Infinity : product / Math.sqrt(dHead);
      }
      const top = Math.max(...scores);
      if (top === -Infinity) throw new Error('these cuts leave a query with no key to attend to');
      let sum = 0;
      for (let j = 0; j <= i; j++) sum += scores[j] = Math.exp(scores[j] - top);
      for (let j = 0; j <= i; j++) pattern[i * n + j] = scores[j] / sum;
    }
    return pattern;
  }

  // What the heads of a layer write, [n d_model], and their patterns.
  function attention({ config, weights }, layer, x, edits) {
    const { d_model: d, d_head: dHead, n_heads: nHeads } = config, n = x.length / d;
    const name = `blocks.${layer}.attn`, z = new Float32Array(n * nHeads * dHead), patterns = [];
    for (let head = 0; head < nHeads; head++) {
      const [q, k, v] = ['Q', 'K', 'V'].map(site => {
        const weight = weights[`${name}.W_${site}`].subarray(head * d * dHead, (head + 1) * d * dHead);
        const bias = weights[`${name}.b_${site}`]?.subarray(head * dHead, (head + 1) * dHead);
        const found = linear(x, weight, bias, d, dHead);
        return config.positions === 'rope' && site !== 'V' ? rotate(found, dHead) : found;
      });
      const pattern = attend(q, k, dHead, (query, key) => edits.isCut(layer, head, query, key));
      patterns.push(pattern);
      if (edits.isOff(layer, head)) continue; // its z stays zero
      const mixed = linear(pattern, v, null, n, dHead);
      for (let i = 0; i < n; i++) z.set(mixed.subarray(i * dHead, (i + 1) * dHead), (i * nHeads + head) * dHead);
    }
    return { out: linear(z, weights[`${name}.W_O`], weights[`${name}.b_O`], nHeads * dHead, d), patterns };
  }

  // What the MLP of a layer writes, [n d_model].
  function mlp({ config, weights }, layer, x) {
    const { d_model: d, d_mlp: width, mlp: kind } = config, name = `blocks.${layer}.mlp`;
    const into = part => linear(x, weights[`${name}.W_${part}`], weights[`${name}.b_${part}`], d, width);
    let hidden = into('in');
    if (kind === 'swiglu') {
      const gate = into('gate');
      hidden = hidden.map((up, i) => ACTIVATIONS.silu(gate[i]) * up);
    } else hidden = hidden.map(ACTIVATIONS[kind]);
    return linear(hidden, weights[`${name}.W_out`], weights[`${name}.b_out`], width, d);
  }

  // Edits as lists -> questions the forward pass asks. An edit of a part that is not there is an error.
  function asked({ cuts = [], heads = [], mlps = [] }, config, n) {
    const below = (limit, value) => Number.isInteger(value) && value >= 0 && value < limit;
    const layerOk = layer => below(config.n_layers, layer);
    const headOk = ([layer, head]) => layerOk(layer) && below(config.n_heads, head);
    const cutOk = ([layer, head, query, key]) => headOk([layer, head]) && below(n, query) && below(query + 1, key);
    const wrong = [...cuts.filter(cut => !cutOk(cut)), ...heads.filter(head => !headOk(head)),
      ...mlps.filter(layer => !layerOk(layer) || config.mlp === 'none')];
    if (wrong.length) throw new Error(`no such part to edit: ${wrong[0]}`);
    const cut = new Set(cuts.map(String)), off = new Set(heads.map(String)), silent = new Set(mlps);
    return {
      isCut: (...edge) => cut.has(edge.join()),
      isOff: (...head) => off.has(head.join()),
      isSilent: layer => silent.has(layer),
    };
  }

  // edits: { cuts: [[layer, head, query, key]], heads: [[layer, head]] (z set to zero), mlps: [layer] (output zero) }
  // Returns logits [n d_vocab] and patterns[layer][head] [query key].
  function forward(model, inputs, edits = {}) {
    const { config, weights } = model, questions = asked(edits, config, inputs.length);
    const pre = config.norm_position === 'pre', before = (name, x) => (pre ? norm(model, name, x) : x);
    const after = (name, x) => (pre ? x : norm(model, name, x)), patterns = [];
    let x = embed(model, inputs);
    for (let layer = 0; layer < config.n_layers; layer++) {
      const [ln1, ln2] = [`blocks.${layer}.ln1`, `blocks.${layer}.ln2`];
      const heads = attention(model, layer, before(ln1, x), questions);
      patterns.push(heads.patterns);
      x = after(ln1, plus(x, heads.out));
      if (config.mlp === 'none') continue;
      x = after(ln2, questions.isSilent(layer) ? x : plus(x, mlp(model, layer, before(ln2, x))));
    }
    if (pre) x = norm(model, 'ln_final', x);
    return { logits: unembed(model, x), patterns };
  }

  function unembed({ config, weights }, x) {
    const { d_model: d, d_vocab: nTokens, tied } = config, table = tied ? weights['embed.W_E'] : weights['unembed.W_U'];
    const [perChannel, perToken] = tied ? [1, d] : [nTokens, 1], bias = weights['unembed.b_U'];
    const n = x.length / d, out = new Float32Array(n * nTokens);
    for (let i = 0; i < n; i++) {
      for (let t = 0; t < nTokens; t++) {
        let sum = bias ? bias[t] : 0;
        for (let c = 0; c < d; c++) sum += x[i * d + c] * table[c * perChannel + t * perToken];
        out[i * nTokens + t] = sum;
      }
    }
    return out;
  }

  return { unpack, forward };
})();
