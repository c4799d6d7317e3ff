// Direct logit attribution: what each part of a network adds. Defines `circuitAttribution`; needs `circuitDecoder`.
globalThis.circuitAttribution = (() => {
  'use strict';
  const { piece, linear, norm, unembed } = circuitDecoder;

  // The share [d_vocab] of the logits at a position that each part wrote, as circuitcore/metrics/scores/attribution.py has it.
  function shares(model, { cache }, position) {
    const { config, weights } = model, { n_layers: nLayers, n_heads: nHeads, d_model: d, d_head: dHead } = config;
    if (config.norm_position !== 'pre') {
      throw new Error('direct logit attribution needs a pre-norm residual stream; this model is post-norm');
    }
    const whole = piece(cache[`resid_post.${nLayers - 1}`], position, d), parts = [];
    const add = (part, wrote) => parts.push({ part, shares: unembed(model, norm(model, 'ln_final', wrote, whole)) });
    add('embed', piece(cache['resid_pre.0'], position, d));
    for (let layer = 0; layer < nLayers; layer++) {
      for (let head = 0; head < nHeads; head++) {
        const z = piece(cache[`z.${layer}`], position * nHeads + head, dHead);
        const weight = piece(weights[`blocks.${layer}.attn.W_O`], head, dHead * d);
        add(`L${layer}H${head}`, linear(z, weight, null, dHead, d));
      }
      if (config.mlp !== 'none') add(`L${layer}MLP`, piece(cache[`mlp_out.${layer}`], position, d));
    }
    return parts;
  }

  // What each part adds to the margin of a reading of the lab; an Error where that is not defined.
  function ofMargin({ model, asked, now }) {
    const { target, rival } = now;
    return shares(model, now.result, asked.ids.length - 1)
      .map(({ part, shares: own }) => ({ part, value: own[target] - own[rival] }));
  }

  return { shares, ofMargin };
})();
