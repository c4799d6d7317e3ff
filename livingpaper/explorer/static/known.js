// What decoder.js computes, as livingpaper/explorer/weights.py has it; it defines `circuitKnown`:
//   WORDS: field of a model's config -> its words; none for a number, and for what only training reads
//   strange(config) -> the first field and word that are not among them, as text; '' where all are
globalThis.circuitKnown = (() => {
  'use strict';
  const WORDS = {
    d_vocab: [], n_ctx: [], n_layers: [], n_heads: [], d_model: [], d_head: [], d_mlp: [], d_in: [], norm_eps: [], init: [],
    norm: ['rms', 'layer', 'none'], norm_position: ['pre', 'post'], positions: ['rope', 'learned', 'none'],
    mlp: ['swiglu', 'gelu', 'relu', 'none'], tied: [true, false], bias: [true, false],
  };
  const isKnown = (words, word) => words && (!words.length || words.includes(word));
  const strange = config => (Object.entries(config).find(([name, word]) => !isKnown(WORDS[name], word)) ?? []).join(' = ');
  return { WORDS, strange };
})();
