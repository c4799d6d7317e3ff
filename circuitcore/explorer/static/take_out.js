// What a reader takes along: the address of a state, a Python snippet, a CSV table. Defines `circuitTakeOut`.
globalThis.circuitTakeOut = (() => {
  'use strict';
  const FIELDS = ['run', 'step', 'prompt', 'source', 'edits', 'resample', 'other'];

  // `#explorer-kv?run=...&step=...`: only what differs from `opening`.
  function address(name, state, opening) {
    const asked = new URLSearchParams();
    for (const field of FIELDS) {
      const value = state[field];
      if (JSON.stringify(value) === JSON.stringify(opening[field])) continue;
      if (field === 'edits') asked.set('edits', value.join(' '));
      else asked.set(field, field === 'other' ? (value ? `${value.run} ${value.step}` : '') : value);
    }
    return `#${name}?${asked}`;
  }

  // The state that an address names, or null where it is not one of ours.
  function fromAddress(hash, name, opening) {
    if (!hash.startsWith(`#${name}?`)) return null;
    const asked = new URLSearchParams(hash.slice(name.length + 2)), state = { ...opening };
    const number = (text, field) => {
      if (!/^\d+$/.test(text)) throw new Error(`${field} is "${text ?? ''}"; it must be a number`);
      return Number(text);
    };
    for (const [field, value] of asked) {
      if (!FIELDS.includes(field)) throw new Error(`the address has a part "${field}"; it may have ${FIELDS.join(', ')}`);
      if (field === 'edits') state.edits = value.split(' ').filter(Boolean);
      else if (field === 'other') {
        const [run, step] = value.split(' ');
        state.other = value ? { run, step: number(step, 'the step of the other network') } : null;
      } else state[field] = field === 'step' || field === 'resample' ? number(value, field) : value;
    }
    return state;
  }

  function python(state, readings) {
    const one = ({ run, step }, { asked }) => {
      const lines = [`${JSON.stringify(run)}`, `step=${step}`, `prompt=${JSON.stringify(state.prompt)}`];
      const has = kind => state.edits.some(text => text.startsWith(kind));
      if (state.edits.length) lines.push(`edits=${JSON.stringify(state.edits)}`);
      if (has('patch')) lines.push(`source=${JSON.stringify(state.source)}`);
      if (has('resample')) lines.push(`resample=${state.resample}`);
      if (asked.answer !== null) lines.push(`answer=${JSON.stringify(asked.answer)}`);
      return `print(probe(\n${lines.map(line => `    ${line},\n`).join('')}))\n`;
    };
    return `from circuitcore.explorer import probe\n\n${[state, state.other].slice(0, readings.length).map((place, i) => one(place, readings[i])).join('')}`;
  }

  const quoted = value => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);

  // Every number on screen: probabilities and logits of all tokens, all attention, what each part adds.
  function csv(lab, state, readings) {
    const rows = [['run', 'step', 'table', 'part', 'position', 'token', 'value']];
    readings.forEach((reading, i) => {
      const { run, step } = i ? state.other : state, { asked, now, model } = reading, n = asked.ids.length;
      const add = (...row) => rows.push([run, step, ...row]);
      lab.task.vocab.forEach((word, token) => {
        add('probability', '', n - 1, word, now.probabilities[token]);
        add('logit', '', n - 1, word, now.logits[token]);
      });
      for (let layer = 0; layer < model.config.n_layers; layer++) {
        const pattern = now.result.cache[`pattern.${layer}`];
        for (let at = 0; at < pattern.length; at++) {
          const [head, query, key] = [Math.floor(at / n / n), Math.floor(at / n) % n, at % n];
          if (key <= query) add('attention', `L${layer}H${head}`, query, `${key} ${asked.words[key]}`, pattern[at]);
        }
      }
      if (model.config.norm_position === 'pre') {
        lab.attribution(reading).forEach(({ part, value }) => add('attribution', part, n - 1, '', value));
      }
    });
    return rows.map(row => row.map(quoted).join(',')).join('\n') + '\n';
  }

  function download(name, text) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  return { FIELDS, address, fromAddress, python, csv, download };
})();
