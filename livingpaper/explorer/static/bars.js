// Bars in tables. Defines `circuitBars`.
globalThis.circuitBars = (() => {
  'use strict';
  const { el } = pageParts('explorer');

  // A bar of a share between 0 and 1, with a mark where it was before the edits.
  function bar(value, before = null) {
    const fill = el('i', 'bar'), track = el('span', '', fill);
    fill.style.width = `${100 * value}%`;
    if (before !== null) {
      const mark = el('i', 'before');
      mark.style.left = `${100 * before}%`;
      track.append(mark);
    }
    return el('td', 'track', track);
  }

  const cell = text => el('td', 'number', text);

  // Rows of the likeliest tokens, the answer among them where it is known: a name, a bar, and `numbers(token)`.
  function likeliest(lab, { asked, before, now }, most, isEdited, numbers) {
    const p = now.probabilities, isKnown = asked.answer !== null;
    const top = [...p.keys()].sort((a, b) => p[b] - p[a]).slice(0, most);
    if (isKnown && !top.includes(now.target)) top.splice(-1, 1, now.target);
    return top.map(token => {
      const word = el('th', '', { scope: 'row' }, lab.word(token));
      if (isKnown && token === now.target) word.append(el('span', 'right', ' answer'));
      return el('tr', '', word, bar(p[token], isEdited ? before.probabilities[token] : null), ...numbers(token).map(cell));
    });
  }

  return { bar, cell, likeliest };
})();
