// What decoder.js computes, as livingpaper/explorer/weights.py has it; it defines `circuitKnown`:
//   NUMBERS, WORDS: fields of a model's config that may have any value, and the words of the others
//   strange(config) -> the first field and word that are not among them, as text; '' where all are
globalThis.circuitKnown = (() => {
  'use strict';
  const NUMBERS = ['d_vocab', 'n_ctx', 'n_layers', 'n_heads', 'd_model', 'd_head', 'd_mlp', 'd_in', 'norm_eps', 'init'];
  const WORDS = {
    norm: ['rms', 'layer', 'none'], norm_position: ['pre', 'post'], positions: ['rope', 'learned', 'none'],
    mlp: ['swiglu', 'gelu', 'relu', 'none'], tied: [true, false], bias: [true, false, 'inside'],
  };
  const isNew = ([name, word]) => !NUMBERS.includes(name) && !WORDS[name]?.includes(word);
  const strange = config => (Object.entries(config).find(isNew) ?? []).join(' = ');
  return { NUMBERS, WORDS, strange };
})();
