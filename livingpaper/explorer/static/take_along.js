// What else a reader takes along: a Python snippet, a CSV table. Defines `circuitTakeAlong`.
globalThis.circuitTakeAlong = (() => {
  'use strict';
  const json = JSON.stringify, { say } = pageParts('explorer');

  function python(state, readings) {
    const one = ({ run, step }, { asked }) => {
      const { edits, source, resample } = state, has = kind => edits.some(text => text.startsWith(kind));
      const lines = [json(run), `step=${step}`, `prompt=${json(state.prompt)}`];
      if (edits.length) lines.push(`edits=${json(edits)}`);
      if (has('patch')) lines.push(`source=${json(source)}`);
      if (has('resample')) lines.push(`resample=${resample}`);
      if (asked.answer !== null) lines.push(`answer=${json(asked.answer)}`);
      return `print(probe(\n${lines.map(line => `    ${line},\n`).join('')}))\n`;
    };
    const shown = readings.map((reading, i) => one(i ? state.other : state, reading));
    return `from livingpaper.explorer import probe\n\n${shown.join('')}`;
  }

  const quoted = value => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);

  // Every number on screen: probabilities and logits of all tokens, both margins, all attention, what each part adds.
  function csv(lab, state, readings) {
    const rows = [['run', 'step', 'table', 'part', 'position', 'token', 'value']];
    readings.forEach((reading, i) => {
      const { run, step } = i ? state.other : state, { asked, now, model } = reading, n = asked.ids.length;
      const add = (...row) => rows.push([run, step, ...row]);
      lab.task.vocab.forEach((word, token) => {
        add('probability', '', n - 1, word, now.probabilities[token]);
        add('logit', '', n - 1, word, now.logits[token]);
      });
      for (const [table, { rival, margin }] of [['margin', now], ['margin over answer words', now.overAnswers]]) {
        add(table, '', n - 1, `${lab.word(now.target)} over ${lab.word(rival)}`, margin);
      }
      for (const { name, layer, head } of circuitLab.headsOf(model.config)) {
        const pattern = now.result.cache[`pattern.${layer}`].subarray(head * n * n);
        asked.words.forEach((_, query) => asked.words.slice(0, query + 1).forEach((word, key) =>
          add('attention', name, query, `${key} ${word}`, pattern[query * n + key])));
      }
      if (model.config.norm_position === 'pre') {
        circuitAttribution.ofMargin(reading).forEach(({ part, value }) => add('attribution', part, n - 1, '', value));
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

  // kind: link, snippet or table. A text is copied and shown as well: not every page may write to the clipboard.
  function take(kind, { lab, state, readings, name, link, text, told }) {
    if (kind === 'table') {
      download(`${name}.csv`, csv(lab, state, readings));
      return;
    }
    Object.assign(text, { value: kind === 'link' ? link : python(state, readings), hidden: false });
    text.select();
    const tell = is => () => say(told, `The ${kind} is ${is}.`);
    (navigator.clipboard?.writeText(text.value) ?? Promise.reject()).then(tell('copied'), tell('below'));
  }

  return { take };
})();
