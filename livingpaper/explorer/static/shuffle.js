// Another prompt of the same form. Defines `circuitShuffle`; needs `circuitPrompt`.
globalThis.circuitShuffle = (() => {
  'use strict';
  const { wordsOf, fits } = circuitPrompt;

  // A prompt drawn by the rules of a form; with free words, one of the task's own.
  function shuffled(task, form, random = Math.random) {
    const any = list => list[Math.floor(random() * list.length)];
    const isPrompt = words => fits(task, form, words);
    if (form.reads) return stream(task, form, any);
    if (form.open !== null) {
      const rows = Object.values(task.references).flat().map(row => row.map(id => task.vocab[id]));
      return any([...task.examples.map(({ prompt }) => wordsOf(prompt)), ...rows].filter(isPrompt)).join(' ');
    }
    for (let i = 0; i < 1000; i++) {
      const words = [];
      form.slots.forEach(([, set], at) => {
        const taken = form.distinct.filter(group => group.includes(at)).flat().map(other => words[other]);
        const allowed = form.member?.[0] === at ? form.member[1].map(other => words[other]) : task.sets[set];
        words.push(any(allowed.filter(word => !taken.includes(word))));
      });
      if (isPrompt(words)) return words.join(' ');
    }
    throw new Error(`no prompt of the form '${form.name}' was found`);
  }

  // How one of the task's own rows begins; where the form ends in a read, with any key that has a value asked for.
  function stream(task, form, any) {
    const isAny = form.unit.length > 0, n = form.slots.length, [query, pairs] = form.lookup ?? [null, []];
    const rows = Object.values(task.references).flat().map(row => row.map(id => task.vocab[id]))
      .map(row => row.filter(word => task.sets.flat().includes(word))).filter(row => isAny || row.length >= n);
    if (!rows.length) throw new Error(`no prompt of the form '${form.name}' was found`);
    const words = any(rows);
    if (isAny) return words.join(' ');
    const cut = words.slice(0, n);
    if (query !== null) cut.splice(-2, 2, form.reads, cut[any(pairs)[0]]);
    return cut.join(' ');
  }

  return { shuffled };
})();
