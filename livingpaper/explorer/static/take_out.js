// The address of a state, which a reader takes along. Defines `circuitTakeOut`.
globalThis.circuitTakeOut = (() => {
  'use strict';
  const json = JSON.stringify, fail = sentence => { throw new Error(sentence); };

  // `#explorer-kv?run=...&step=...`: only what differs from `opening`.
  function address(name, state, opening) {
    const asked = new URLSearchParams();
    for (const [field, usual] of Object.entries(opening)) {
      const value = state[field];
      if (json(value) === json(usual)) continue;
      if (field === 'edits') asked.set('edits', value.join(' '));
      else asked.set(field, field === 'other' ? (value ? `${value.run} ${value.step}` : '') : value);
    }
    return `#${name}?${asked}`;
  }

  // The state that an address of ours names.
  function fromAddress(hash, name, opening) {
    const asked = new URLSearchParams(hash.slice(name.length + 2)), state = { ...opening };
    const number = (text, field) =>
      (/^\d+$/.test(text) ? Number(text) : fail(`${field} is "${text ?? ''}"; it must be a number`));
    for (const [field, value] of asked) {
      const fields = Object.keys(opening);
      if (!fields.includes(field)) fail(`the address has a part "${field}"; it may have ${fields.join(', ')}`);
      if (field === 'edits') state.edits = value.split(' ').filter(Boolean);
      else if (field === 'other') {
        const [run, step] = value.split(' ');
        state.other = value ? { run, step: number(step, 'the step of the other network') } : null;
      } else state[field] = field === 'step' || field === 'resample' ? number(value, field) : value;
    }
    return state;
  }

  return { address, fromAddress };
})();
