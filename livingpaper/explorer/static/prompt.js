// Prompts that a reader may type, by the rules and with the sentences of circuitcore/tasks/forms.py. Defines
// `circuitPrompt`; needs `circuitLookup`.
// Tasks: { vocab, ...as_json(forms), references: { tokens: [[ids]] }, examples: [{ prompt, answer }]}
globalThis.circuitPrompt = (() => {
  'use strict';
  const { kindOf, asked } = circuitLookup;
  const wordsOf = text => text.match(/\S+/g) ?? [];
  const fail = sentence => { throw new Error(sentence); };

  const hasLength = ({ slots, most }, n) => n >= slots.length && n <= most;

  // Whether words are a prompt of this form.
  const fits = (task, form, words) => hasLength(form, words.length) && !fault(task, unrolled(form, words), words);

  // The form of just these words' length, of one whose unit comes again and again.
  function unrolled(form, words) {
    const { slots, unit, reads } = form, first = slots.length, size = unit.length, more = words.length - first;
    if (!size) return form;
    const named = at => [`${unit[at % size][0]} ${Math.floor(at / size) + 1}`, unit[at % size][1]];
    const names = Array.from({ length: more }, (_, at) => named(at));
    const starts = Array.from({ length: Math.floor(more / size) }, (_, i) => first + size * i);
    const said = starts.map(at => [at + 1, at + 2]);
    const found = { ...form, slots: [...slots, ...names], unit: [], most: words.length, said };
    if (more % size !== 2 || words.at(-2) !== reads || !said.length) return found;
    found.slots.splice(-1, 1, ['query', unit[1][1]]);
    const query = words.length - 1;
    return { ...found, lookup: [query, said], member: [query, said.map(([key]) => key)] };
  }

  // Reads that say what does not hold, as [key, value, what holds].
  function stale({ said = [], reads }, words) {
    const holds = new Map();
    return said.flatMap(([key, value]) => {
      const now = holds.get(words[key]);
      if (words[key - 1] !== reads) holds.set(words[key], words[value]);
      return words[key - 1] !== reads || now === words[value] ? [] : [[key, value, now]];
    });
  }

  // Words with what reads say put right, as far as it can be.
  function settled(form, words) {
    const found = [...words];
    for (const [, value, now] of stale(form, words)) found[value] = now ?? words[value];
    return found;
  }

  // What keeps words of a possible length from being a prompt of this form.
  function fault({ sets }, form, words) {
    const { slots, open, distinct, member } = form;
    const token = at => `token ${at} ('${words[at]}') must be`;
    const kind = at => kindOf(slots[at]?.[0] ?? 'word');
    for (const at of words.keys()) {
      const allowed = sets[slots[at]?.[1] ?? open], article = /^[aeioux]/.test(kind(at)) ? 'an' : 'a';
      const listed = allowed.length > 8 ? [...allowed.slice(0, 8), '...'] : allowed;
      if (!allowed.includes(words[at])) return `${token(at)} ${article} ${kind(at)}: ${listed.join(', ')}`;
    }
    for (const group of distinct) {
      for (const at of group) {
        const first = group.find(other => words[other] === words[at]), both = `tokens ${first} and ${at} are both`;
        if (first !== at) return `${both} '${words[at]}'; the ${kind(group[0])}s of a prompt differ`;
      }
    }
    const [old] = stale(form, words);
    if (old) {
      const [key, value, now] = old;
      return now === undefined ? `token ${key} ('${words[key]}') is read before anything is written to it`
        : `${token(value)} '${now}', the last value of ${words[key]}`;
    }
    const among = member && [...new Set(member[1].map(at => words[at]))];
    if (among && !among.includes(words[member[0]])) return `${token(member[0])} one of '${among.join("', '")}'`;
  }

  function matching(task, words) {
    const n = words.length, known = task.sets.flat(), at = words.findIndex(word => !known.includes(word));
    if (!n) fail('the prompt has no tokens; separate tokens by spaces');
    if (at >= 0) {
      const near = known.find(word => word.toLowerCase() === words[at].toLowerCase());
      fail(`token ${at}: '${words[at]}' is no word of this task${near ? ` (did you mean '${near}'?)` : ''}`);
    }
    const fitting = task.forms.filter(form => hasLength(form, n));
    if (!fitting.length) fail(`${n} token${n > 1 ? 's' : ''}; prompts of this task have ${task.lengths}`);
    const found = fitting.find(form => fits(task, form, words));
    return unrolled(found ?? fail(fault(task, unrolled(fitting[0], words), words)), words);
  }

  // The answer as far as the prompt tells it.
  function known({ sets }, form, words) {
    const { slots, lookup, leftover } = form, [pair] = asked(form, words);
    if (pair) return words[pair[1]];
    if (!lookup || !leftover.length) return null;
    const taken = leftover.map(at => words[at]), left = sets[slots[leftover[0]][1]].filter(y => !taken.includes(y));
    return left.length === 1 ? left[0] : null;
  }

  // Where the prompt does not tell the answer, an example may.
  function read(task, text) {
    const words = wordsOf(text), form = matching(task, words);
    const example = task.examples.find(({ prompt }) => wordsOf(prompt).join(' ') === words.join(' '));
    const answer = known(task, form, words) ?? example?.answer ?? null;
    return { words, ids: words.map(word => task.vocab.indexOf(word)), form, answer };
  }

  // The rule of livingpaper/explorer/references.py: rows of n ids, or how the shortest longer rows begin.
  function references(task, n) {
    const all = Object.keys(task.references).map(Number), length = Math.min(...all.filter(one => one >= n));
    const rows = task.references[length];
    return rows?.map(row => row.slice(0, n))
      ?? fail(`no row of this task has ${n} tokens; the longest have ${Math.max(...all)}`);
  }

  // Names of n positions; free words have none.
  const roles = (form, n) => Array.from({ length: n }, (_, at) => form.slots[at]?.[0] ?? '');

  return { read, references, roles, wordsOf, fits, settled };
})();
