// When the parts of a circuit were born in a run, under the slider, and the chosen step. Defines `circuitStrip`.
globalThis.circuitStrip = (() => {
  'use strict';
  const { svg } = circuitSvg;
  const PAD = 8, LANE = 16; // the thumb of a slider stands 8 px inside its ends
  const number = step => step.toLocaleString('en-US');

  // Those rules by which the births of a run are dated; '' where there is one only.
  const rulesOf = ({ births }) => [...new Set(births.map(({ rule }) => rule))];

  // births: [{ label, after, by, rule }] in steps; by null: not born. Of several rules one is shown.
  class Strip {
    #run;
    #step;
    #rule;
    node = svg('svg', { role: 'img', class: 'explorer-strip' });

    constructor() { new ResizeObserver(() => this.#draw()).observe(this.node); }

    show(run, step, rule) {
      [this.#run, this.#step, this.#rule] = [run, step, rule];
      this.node.toggleAttribute('hidden', !run.births.length);
      this.#draw();
    }

    #draw() {
      const width = this.node.clientWidth;
      if (!this.#run || !width) return;
      const { final } = this.#run, births = this.#births, x = step => PAD + (width - 2 * PAD) * (step / final), now = x(this.#step);
      const born = births.filter(({ by }) => by !== null), rest = births.filter(({ by }) => by === null);
      const height = LANE * (born.length + (rest.length ? 1 : 0));
      this.node.setAttribute('viewBox', `0 0 ${width} ${height}`);
      this.node.style.height = `${height}px`;
      this.node.ariaLabel = this.#text();
      const unborn = rest.length ? [svg('text', { x: PAD, y: height - 4 },
        `not born: ${rest.map(({ label }) => label).join(', ')}`)] : [];
      this.node.replaceChildren(svg('line', { class: 'now', x1: now, x2: now, y1: 0, y2: height }),
        ...born.flatMap((birth, i) => this.#lane(birth, LANE * i, x, width)), ...unborn);
    }

    // A bar from the last checkpoint known to be below to the first at or above; its name on the side with room.
    #lane({ label, after, by }, top, x, width) {
      const [from, to] = [x(after ?? 0), x(by)], isLate = to > width * 0.6;
      const at = isLate ? from - 5 : Math.max(to, from + 3) + 5;
      return [
        svg('rect', { class: 'birth', x: from, y: top + 3, width: Math.max(to - from, 3), height: 9 }),
        svg('text', { x: at, y: top + 12, 'text-anchor': isLate ? 'end' : 'start' }, `${label}: born`)];
    }

    get #births() { return this.#run.births.filter(({ rule }) => rule === this.#rule); }

    #text() {
      const born = this.#births.map(({ label, after, by }) =>
        `${label} ${by === null ? 'not born' : `born between step ${number(after ?? 0)} and ${number(by)}`}`);
      return `Through training${this.#rule && `, by the rule “${this.#rule}”`}: ${born.join('; ')}`;
    }
  }

  return { Strip, rulesOf, number, PAD };
})();
