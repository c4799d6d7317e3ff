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

  return { bar };
})();
