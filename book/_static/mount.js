// Brings a page's charts to life and makes its wide boxes reachable by keyboard. A classic script: it also runs
// from file://. A chart is
//   <div class="vl-chart"><img class="vl-still" alt="..." src="data:..."><script type="application/json"
//   class="vl-spec">{...}</script></div>
// and the spec's usermeta may hold `dark` (a Vega-Lite config), `narrow` (a layout without data for small screens) and
// `presets` (controls that are set together).
(() => {
  'use strict';

  // The still keeps its alternative text while the chart is live: the drawing itself is hidden from screen readers.
  class Chart {
    constructor(box) {
      this.box = box;
      this.still = box.querySelector('.vl-still');
      this.spec = JSON.parse(box.querySelector('.vl-spec').textContent);
      this.wideWidth = this.still.naturalWidth;
      this.drawn = null;
      box.classList.toggle('has-one-theme', !this.spec.usermeta?.dark);
    }

    // What the chart should look like now, as a word: drawing again is needed only when this changes.
    wanted() {
      const narrow = this.spec.usermeta?.narrow && this.wideWidth > this.box.clientWidth;
      return `${narrow ? 'narrow' : 'wide'} ${theme()}`;
    }

    specification(wanted) {
      const [layout, colours] = wanted.split(' ');
      const { narrow, dark } = this.spec.usermeta ?? {};
      const spec = layout === 'narrow' ? { ...narrow, datasets: this.spec.datasets } : { ...this.spec };
      if (colours === 'dark' && dark) spec.config = merged(spec.config ?? {}, dark);
      delete spec.usermeta;
      return spec;
    }

    async draw() {
      const wanted = this.wanted();
      if (wanted === this.drawn || !this.box.clientWidth) return;
      this.drawn = wanted;
      const host = document.createElement('div');
      host.className = 'vl-live is-drawing';
      this.box.append(host);
      try {
        const options = { renderer: 'svg', actions: false, tooltip: { theme: theme() } };
        const result = await window.vegaEmbed(host, this.specification(wanted), options);
        window.vegaPresets(result.view, this.spec.usermeta?.presets);
        this.show(host, result, wanted);
      } catch (error) {
        host.remove(); // what was there before stays: the still, or the chart in its former look
        this.box.classList.add('has-failed');
        console.error('a chart could not be drawn', error);
      }
    }

    show(host, result, wanted) {
      if (wanted !== this.drawn) { // the page has changed again meanwhile
        result.finalize();
        host.remove();
        return;
      }
      for (const element of host.querySelectorAll('[role^="graphics-"]')) {
        for (const name of ['role', 'aria-roledescription', 'aria-label']) element.removeAttribute(name);
      }
      for (const drawing of host.querySelectorAll('svg')) drawing.setAttribute('aria-hidden', 'true');
      this.live?.result.finalize();
      this.live?.host.remove();
      this.live = { host, result };
      host.classList.remove('is-drawing');
      this.box.classList.add('is-live');
      reach(this.box);
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
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    if (scrolls) box.setAttribute('tabindex', '0');
    else if (box.tabIndex === 0) box.removeAttribute('tabindex');
  }

  function charts() {
    const all = [...document.querySelectorAll('.vl-chart')].map(box => new Chart(box));
    if (!all.length) return;
    const drawAll = () => all.forEach(chart => chart.draw());
    const sizes = new ResizeObserver(drawAll);
    all.forEach(chart => sizes.observe(chart.box)); // observing also reports the first size
    new MutationObserver(drawAll).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  }

  function wideBoxes() {
    const selector = '.cell_output .output, .pst-scrollable-table-container, div.math, pre';
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
  // A still's natural width is known once it is decoded.
  if (window.vegaEmbed) {
    const stills = [...document.querySelectorAll('.vl-still')];
    Promise.allSettled(stills.map(still => still.decode())).then(charts);
  }
})();
