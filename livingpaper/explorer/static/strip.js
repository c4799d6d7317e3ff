// What was measured on a run through its training, as a strip under the slider: curves, births, and the chosen step.
// Defines `circuitStrip`.
globalThis.circuitStrip = (() => {
  'use strict';
  const NAMESPACE = 'http://www.w3.org/2000/svg';
  const DASHES = ['', '7 3', '2 2', '9 3 2 3'];
  const PAD = 8, HEIGHT = 76, LANE = 17; // a slider's thumb stands 8 px inside its ends
  const look = i => ({ class: `curve s${i}`, 'stroke-dasharray': DASHES[i % DASHES.length] });
  const number = step => step.toLocaleString('en-US');

  function svg(tag, attributes, text) {
    const node = document.createElementNS(NAMESPACE, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // curves: [{ label, steps, values, chance }], values between 0 and 1; births: [{ label, after, by }] in steps.
  class Strip {
    #run;
    #step;
    node = svg('svg', { role: 'img' });

    constructor() { new ResizeObserver(() => this.#draw()).observe(this.node); }

    show(run, step) {
      this.#run = run;
      this.#step = step;
      this.#draw();
    }

    #draw() {
      const width = this.node.clientWidth;
      if (!this.#run || !width) return;
      const { curves, births, final } = this.#run, x = step => PAD + (width - 2 * PAD) * (step / final);
      const height = HEIGHT + LANE * births.length, y = value => 4 + (HEIGHT - 10) * (1 - value);
      this.node.setAttribute('viewBox', `0 0 ${width} ${height}`);
      this.node.style.height = `${height}px`;
      this.node.ariaLabel = this.#text();
      const line = (name, x1, x2, y1, y2) => svg('line', { class: name, x1, x2, y1, y2 });
      const level = name => value => line(name, PAD, width - PAD, y(value), y(value));
      const chances = new Set(curves.map(({ chance }) => chance).filter(Boolean));
      const paths = curves.map(({ steps, values }, i) => svg('polyline', {
        ...look(i), points: steps.map((step, at) => `${x(step).toFixed(1)},${y(values[at]).toFixed(1)}`).join(' '),
      }));
      const lanes = births.flatMap((birth, i) => this.#lane(birth, HEIGHT + LANE * i, x, width)), now = x(this.#step);
      this.node.replaceChildren(
        ...[0, 1].map(level('grid')), ...[...chances].map(level('chance')), ...paths, ...lanes,
        line('now', now, now, 0, height));
    }

    // A bar from the last checkpoint known to be below to the first at or above; its name on the side with room.
    #lane({ label, after, by }, top, x, width) {
      const text = (at, anchor, words) => svg('text', { x: at, y: top + 12, 'text-anchor': anchor }, words);
      if (by === null) return [text(width - PAD, 'end', `${label}: not born`)];
      const [from, to] = [x(after ?? 0), x(by)], isLate = to > width * 0.6;
      const bar = svg('rect', { class: 'birth', x: from, y: top + 3, width: Math.max(to - from, 3), height: 10 });
      return [bar, text(isLate ? from - 5 : Math.max(to, from + 3) + 5, isLate ? 'end' : 'start', label)];
    }

    // The dash of curve i, for a legend.
    static key(i) {
      const node = svg('svg', { class: 'key', viewBox: '0 0 28 10', 'aria-hidden': true });
      node.append(svg('line', { ...look(i), x1: 0, x2: 28, y1: 5, y2: 5 }));
      return node;
    }

    #text() {
      const born = this.#run.births.map(({ label, after, by }) =>
        (by === null ? `${label} not born` : `${label} born between step ${number(after ?? 0)} and ${number(by)}`));
      const names = this.#run.curves.map(({ label }) => label).join(', ');
      return `Through training, ${names || 'nothing measured'}. ${born.join('; ')}`;
    }
  }

  return { Strip, number };
})();
