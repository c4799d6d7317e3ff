// Small tables with bars in them. Defines `circuitBars`.
globalThis.circuitBars = (() => {
  'use strict';
  const { el } = pageParts('explorer');

  const named = words => el('th', '', { scope: 'row' }, words);
  const cell = text => el('td', 'number', text);

  function table(caption, headings, rows) {
    const head = el('tr', '', ...headings.map(words => el('th', '', { scope: 'col' }, words)));
    return el('table', '', el('caption', '', caption), el('thead', '', head), el('tbody', '', ...rows));
  }

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

  return { named, cell, table, bar };
})();
