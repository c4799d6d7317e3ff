// Small tables of numbers. Defines `circuitTables`.
globalThis.circuitTables = (() => {
  'use strict';
  const { el } = pageParts('explorer');

  const named = words => el('th', '', { scope: 'row' }, words);

  function table(caption, headings, rows) {
    const head = el('tr', '', ...headings.map(words => el('th', '', { scope: 'col' }, words)));
    return el('table', '', el('caption', '', caption), el('thead', '', head), el('tbody', '', ...rows));
  }

  return { named, table };
})();
