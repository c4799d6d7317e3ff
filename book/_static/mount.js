// Brings a page's charts to life, has its formulas set, and makes its wide boxes reachable by keyboard. A classic script: it also runs
// from file://. A chart is
//   <div class="vl-chart"><picture><source class="vl-narrow" media="..." srcset="..."><img class="vl-still" alt="..."
//   width="..." src="..."></picture><script type="application/json" class="vl-spec">{...}</script></div>
// and the spec's usermeta may hold `dark` (a Vega-Lite config), `narrow` (a layout without data for small screens, with
// a still of its own) and `presets` (controls that are set together). A chart is a still until it comes near; then it is
// drawn in pieces, so that none keeps the page from answering. Vega is loaded for the first one.
(() => {
  'use strict';

  const NEAR = '600px 0px'; // how far from the window a chart is drawn
  const SLICE = 20; // ms of work on a chart, or on formulas, after which the page may answer
  const me = document.currentScript;

  // Between two pieces of work the page may answer the reader.
  const pause = () => new Promise(done => {
    if (window.requestIdleCallback) window.requestIdleCallback(done, { timeout: 200 });
    else setTimeout(done);
  });

  // Formulas a few at a time: MathJax, left alone, sets all of a page at once. It is told before it is run, and its own
  // promise of a finished page is kept.
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
  if (window.MathJax) window.MathJax = { ...window.MathJax, startup: { typeset: false, pageReady } };

  // Vega's script, from the site or from the text that a page alone carries it as.
  const load = () => new Promise((done, fail) => {
    const inside = document.querySelector('script.vega-bundle');
    const script = document.createElement('script');
    script.onload = done;
    script.onerror = () => fail(new Error(`${script.src} was not loaded`));
    if (inside) script.text = inside.textContent;
    else if (me.dataset.vega) script.src = new URL(me.dataset.vega, me.src);
    if (!window.vegaEmbed) document.head.append(script);
    if (window.vegaEmbed) done();
    else if (!script.src) fail(new Error('the page names no Vega'));
  });

  // What draws a specification of Vega's; of vega-lite's with a `patch`, what Vega makes of that instead.
  const embed = (host, spec, more) =>
    window.vegaEmbed(host, spec, { mode: 'vega', renderer: 'svg', actions: false, hover: false, ...more });

  // Vega-Lite's part of the work alone: what Vega is to draw.
  async function compile(spec) {
    let compiled = null;
    const patch = found => {
      compiled = found;
      return {};
    };
    (await embed(document.createElement('div'), spec, { mode: 'vega-lite', patch })).finalize();
    return compiled;
  }

  // Vega's view, in a form whose first drawing lets the page answer before, within and after the evaluation of its
  // dataflow. Of all in Vega's script only vega-embed can be called: a first, empty chart gives the view (and has what
  // every chart needs compiled).
  async function patientView() {
    await load();
    await pause();
    const empty = await embed(document.createElement('div'), { data: { values: [] }, mark: 'point' }, { mode: 'vega-lite' });
    empty.finalize();
    return class extends empty.view.constructor {
      async evaluate(...what) {
        if (this.isDrawn) return super.evaluate(...what);
        await this.rest();
        const render = this._renderer.renderAsync;
        this._renderer.renderAsync = scene => this.rest().then(() => render.call(this._renderer, scene));
        await super.evaluate(...what);
        this._renderer.renderAsync = render;
        this.isDrawn = true;
        return this;
      }

      // Vega waits for an operator that promises its result.
      _enqueue(operator, force) {
        super._enqueue(operator, force);
        if (this.isDrawn || Object.hasOwn(operator, 'run')) return;
        operator.run = pulse => {
          delete operator.run;
          const isLate = performance.now() - this.since > SLICE;
          return isLate ? this.rest().then(() => operator.run(pulse)) : operator.run(pulse);
        };
      }

      async rest() {
        await pause();
        this.since = performance.now();
      }
    };
  }

  // The still keeps its alternative text while the chart is live: the drawing itself is hidden from screen readers.
  class Chart {
    static queue = new Set();
    static isDrawing = false;
    static views = null; // loaded for the first chart

    constructor(box) {
      this.box = box;
      this.narrow = box.querySelector('.vl-narrow');
      this.wideWidth = Number(box.querySelector('.vl-still').getAttribute('width'));
      this.isNear = false;
      this.look();
    }

    // What the chart should look like now, as a word: drawing again is needed only when this changes.
    wanted() {
      const narrow = this.narrow && this.wideWidth > this.box.clientWidth;
      return `${narrow ? 'narrow' : 'wide'} ${theme()}`;
    }

    // Makes the chart look as it should: at once if it is near, else when it comes.
    look(isNear = this.isNear) {
      const wanted = this.wanted();
      if (this.narrow) this.narrow.media = wanted.startsWith('narrow') ? 'screen' : 'not all';
      if (this.live && this.live.look !== wanted && !isNear) this.rest();
      const known = [this.live?.look, this.drawing, this.failed];
      if (isNear && this.box.clientWidth && !known.includes(wanted)) this.ask();
    }

    comes(isNear) {
      this.isNear = isNear;
      if (isNear) this.look();
      else if (Chart.queue.delete(this)) this.box.classList.remove('is-waiting');
    }

    // A still again.
    rest() {
      this.live.result.finalize();
      this.live.host.remove();
      this.live = null;
      this.box.classList.remove('is-live');
    }

    ask() {
      Chart.queue.add(this);
      this.box.classList.add('is-waiting');
      if (!Chart.isDrawing) Chart.drawAll();
    }

    static async drawAll() {
      Chart.isDrawing = true;
      for (const chart of Chart.queue) { // those that ask meanwhile come last
        Chart.queue.delete(chart);
        await chart.draw();
        if (!Chart.queue.has(chart)) chart.box.classList.remove('is-waiting');
      }
      Chart.isDrawing = false;
    }

    async draw() {
      const look = this.drawing = this.wanted();
      const host = document.createElement('div');
      host.className = 'vl-live';
      try {
        const viewClass = await (Chart.views ??= patientView());
        await pause();
        const { presets, ...spec } = this.specification(look);
        await pause();
        const compiled = await compile(spec);
        await pause();
        // Drawn outside the page, in which other scripts look at everything that is put there.
        const result = await embed(host, compiled, { tooltip: { theme: theme() }, viewClass });
        window.vegaPresets(result.view, presets);
        await pause();
        this.box.append(host);
        this.show({ host, result, look });
      } catch (error) {
        // what was there before stays: the still, or the chart in its former look
        this.failed = look;
        this.box.classList.add('has-failed');
        console.error('a chart could not be drawn', error);
      }
      this.drawing = null;
      await pause();
    }

    // The specification of a look, and the presets beside it.
    specification(look) {
      const [layout, colours] = look.split(' ');
      const { usermeta = {}, ...wide } = JSON.parse(this.box.querySelector('.vl-spec').textContent);
      const spec = layout === 'narrow' ? { ...usermeta.narrow, datasets: wide.datasets } : wide;
      if (colours === 'dark' && usermeta.dark) spec.config = merged(spec.config ?? {}, usermeta.dark);
      return { ...spec, presets: usermeta.presets };
    }

    show(drawn) {
      const { host } = drawn;
      for (const element of host.querySelectorAll('[role^="graphics-"]')) {
        for (const name of ['role', 'aria-roledescription', 'aria-label']) element.removeAttribute(name);
      }
      for (const drawing of host.querySelectorAll('svg')) drawing.setAttribute('aria-hidden', 'true');
      if (this.live) this.rest();
      this.live = drawn;
      this.box.classList.add('is-live');
      reach(this.box);
      this.look(); // the page may have changed meanwhile
    }
  }

  const theme = () => (document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light');

  // Objects are merged, anything else is replaced.
  function merged(base, over) {
    const plain = value => value && typeof value === 'object' && !Array.isArray(value);
    const out = { ...base };
    for (const [key, value] of Object.entries(over)) {
      out[key] = plain(value) && plain(out[key]) ? merged(out[key], value) : value;
    }
    return out;
  }

  // A box that scrolls must take the focus, or a keyboard cannot scroll it.
  function reach(box) {
    const scrolls = box.scrollWidth > box.clientWidth;
    if (scrolls) box.setAttribute('tabindex', '0');
    else if (box.tabIndex === 0) box.removeAttribute('tabindex');
  }

  function charts() {
    const all = new Map([...document.querySelectorAll('.vl-chart')].map(box => [box, new Chart(box)]));
    const lookAll = () => all.forEach(chart => chart.look());
    const sizes = new ResizeObserver(lookAll);
    const near = new IntersectionObserver(changes => {
      for (const { target, isIntersecting } of changes) all.get(target).comes(isIntersecting);
    }, { rootMargin: NEAR });
    for (const box of all.keys()) {
      sizes.observe(box);
      near.observe(box);
    }
    new MutationObserver(lookAll).observe(document.documentElement, { attributeFilter: ['data-theme'] });
    window.paperDraw = box => all.get(box)?.look(true); // wherever it is
  }

  function wideBoxes() {
    const selector = '.vl-chart, .cell_output .output, .pst-scrollable-table-container, div.math, pre';
    const sizes = new ResizeObserver(changes => changes.forEach(({ target }) => reach(target)));
    document.querySelectorAll(selector).forEach(box => sizes.observe(box));
  }

  // Pages fetched for search summaries are out of reach from file://; results are then listed without them.
  if (location.protocol === 'file:' && typeof DOCUMENTATION_OPTIONS !== 'undefined') {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  }

  // Paper is light.
  function printLight() {
    const root = document.documentElement;
    let onScreen = null;
    const change = printing => {
      if (printing && onScreen === null) {
        onScreen = root.dataset.theme;
        root.dataset.theme = 'light';
      } else if (!printing && onScreen !== null) {
        root.dataset.theme = onScreen;
        onScreen = null;
      }
    };
    window.addEventListener('beforeprint', () => change(true));
    window.addEventListener('afterprint', () => change(false));
    matchMedia('print').addEventListener('change', medium => change(medium.matches));
  }

  wideBoxes();
  printLight();
  charts();
})();
