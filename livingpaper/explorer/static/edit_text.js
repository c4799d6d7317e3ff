// Edits as the texts that circuitcore/models/edit_text.py reads. Defines `editText`.
globalThis.editText = {
  // Of a head.
  zero: head => `zero(${head})@all`,
  cut: (head, query, key) => `cut(${head}:${query}->${key})`,

  // Texts that are all in place are taken away; else those that are not yet are put in place.
  toggled: (edits, texts) => (texts.every(text => edits.includes(text))
    ? edits.filter(text => !texts.includes(text)) : [...new Set([...edits, ...texts])]),
};
