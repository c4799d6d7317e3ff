// Scores of a run through its training, and the chosen step. Defines `circuitCurves`.
globalThis.circuitCurves = (() => {
  'use strict';
  const { el } = pageParts('explorer'), { svg } = circuitSvg, { PAD } = circuitStrip;
  const DASHES = ['', '7 3', '2 2', '9 3 2 3'], HEIGHT = 110;
  const look = i => ({ class: `curve s${i}`, 'stroke-dasharray': DASHES[i % DASHES.length] });

  // curves: [{ label, steps, values, chance }], values between 0 and 1.
  class Curves {
    #run;
    #step;
    #picture = svg('svg', { role: 'img', class: 'explorer-strip' });
    #legend = el('p', 'legend');
    node = el('div', 'part', this.#picture, this.#legend);

    constructor() { new ResizeObserver(() => this.#draw()).observe(this.#picture); }

    show(run, step) {
      [this.#run, this.#step] = [run, step];
      const { curves } = run, chance = curves.some(curve => curve.chance) ? ', grey: chance' : '';
      this.#legend.replaceChildren(...curves.map(({ label }, i) => el('span', 'key', this.#key(i), label)),
        el('span', 'quiet', curves.length ? `0 to 1${chance}` : 'Nothing was measured on this network.'));
      this.#draw();
    }

    #draw() {
      const width = this.#picture.clientWidth;
      if (!this.#run || !width) return;
      const { curves, final } = this.#run, x = step => PAD + (width - 2 * PAD) * (step / final), now = x(this.#step);
      const y = value => 4 + (HEIGHT - 10) * (1 - value);
      this.#picture.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
      this.#picture.style.height = `${HEIGHT}px`;
      const names = curves.map(({ label }) => label).join(', ');
      this.#picture.ariaLabel = `Through training: ${names || 'nothing measured'}`;
      const line = (name, x1, x2, y1, y2) => svg('line', { class: name, x1, x2, y1, y2 });
      const level = name => value => line(name, PAD, width - PAD, y(value), y(value));
      const chances = new Set(curves.map(({ chance }) => chance).filter(Boolean));
      const paths = curves.map(({ steps, values }, i) => svg('polyline', {
        ...look(i), points: steps.map((step, at) => `${x(step).toFixed(1)},${y(values[at]).toFixed(1)}`).join(' '),
      }));
      this.#picture.replaceChildren(...[0, 1].map(level('grid')), ...[...chances].map(level('chance')), ...paths,
        line('now', now, now, 0, HEIGHT));
    }

    // The dash of curve i, for the legend.
    #key(i) {
      return svg('svg', { class: 'explorer-key-line', viewBox: '0 0 28 10', 'aria-hidden': true },
        svg('line', { ...look(i), x1: 0, x2: 28, y1: 5, y2: 5 }));
    }
  }

  return { Curves };
})();
