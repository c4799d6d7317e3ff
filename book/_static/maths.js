// Formulas are set a few at a time, and between them the page may answer the reader: MathJax, left alone, sets all of a
// page at once. Stands before MathJax, whose settings it adds to; MathJax's own promise of a finished page is kept.
(() => {
  'use strict';

  const SLICE = 20; // ms of work on formulas after which the page may answer

  const pause = () => new Promise(done => {
    if (window.requestIdleCallback) window.requestIdleCallback(done, { timeout: 200 });
    else setTimeout(done);
  });

  async function pageReady() {
    await pause();
    let since = performance.now();
    for (const formula of document.querySelectorAll('.math')) {
      await window.MathJax.typesetPromise([formula]);
      if (performance.now() - since < SLICE) continue;
      await pause();
      since = performance.now();
    }
  }

  window.MathJax = { ...window.MathJax, startup: { typeset: false, pageReady } };
})();
