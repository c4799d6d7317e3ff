// Matrices beside their targets under a scrubber over training. Mounts every `.matrix-film` that is not live yet; where
// that fails the still stays. Defines `matrixFilm`.
globalThis.matrixFilm = (() => {
  'use strict';
  const { svg } = circuitSvg, { el, say, button } = pageParts('matrix-film');
  const SIZE = { width: 400, height: 130, left: 38, bottom: 34, top: 8, right: 8 };
  const PACE = 450; // milliseconds a snapshot, when it plays by itself

  // Shades [step][row * columns + column] of a matrix.
  function unpack({ size: [rows, columns], shades, label }, steps) {
    const bytes = Int8Array.from(atob(shades), letter => letter.charCodeAt(0)), size = rows * columns;
    if (bytes.length !== size * steps) throw new Error(`${label} has ${bytes.length} numbers, not ${size * steps}`);
    return Array.from({ length: steps }, (_, step) => bytes.subarray(step * size, (step + 1) * size));
  }

  const ones = text => [...text].filter(letter => letter === '1').length;

  function said({ steps, matrices }, at) {
    const counts = matrices.map(({ label, recalled }) => `${label} ${ones(recalled[at])} of ${recalled[at].length}`);
    return `Step ${steps[at]}. Pairs recalled: ${counts.join(', ')}.`;
  }

  // The snapshot that an address names; null where it names none of this film. Throws a sentence where it cannot be.
  function read(address, { name, steps }) {
    if (!address.startsWith(`#${name}?`)) return null;
    const step = new URLSearchParams(address.slice(name.length + 2)).get('step'), at = steps.map(String).indexOf(step);
    if (at < 0) throw new Error(`The address has step = “${step ?? ''}”; it can be ${steps.join(', ')}.`);
    return at;
  }

  class View {
    constructor(box, data) {
      Object.assign(this, { box, data, at: data.steps.length - 1 });
      this.shades = data.matrices.map(matrix => unpack(matrix, data.steps.length));
      const figures = el('div', 'figures', ...data.matrices.map((matrix, i) => this.figure(matrix, i)));
      const live = el('div', 'live', this.controls(), this.status(), figures, this.curves());
      this.follow();
      box.append(live);
      box.classList.add('is-live');
      addEventListener('hashchange', () => this.box.isConnected && this.follow());
    }

    follow() {
      let wrong = '';
      try { this.at = read(location.hash, this.data) ?? this.at; } catch ({ message }) { wrong = message; }
      say(this.wrong, wrong);
      this.paint();
    }

    controls() {
      this.slider = el('input', '', { type: 'range', min: 0, max: this.data.steps.length - 1, step: 1, ariaLabel: 'Step' });
      this.slider.oninput = () => { this.stop(); this.go(Number(this.slider.value)); };
      this.play = button('button', () => (this.timer ? this.stop() : this.start()), 'Play');
      this.wrong = el('span', 'wrong', { role: 'alert' });
      return el('div', 'row', this.play, this.slider, this.wrong);
    }

    status() {
      this.summary = el('p', '', { role: 'status' });
      return this.summary;
    }

    figure({ label, size: [rows, columns], right }, i) {
      const heat = name => matrixHeat.picture('matrix-film', rows, columns, `${name}: ${rows} by ${columns} scores as colours`);
      const target = new Int8Array(rows * columns), shown = heat(label), wanted = heat(`target of ${label}`);
      right.forEach((column, row) => { target[row * columns + column] = 1; });
      matrixHeat.paint(wanted, target, columns, 1);
      (this.heats ??= [])[i] = { shown, columns };
      const words = this.box.querySelectorAll('.matrix-film-still figcaption')[i].cloneNode(true);
      return el('figure', '', words, el('div', 'pair', shown, wanted));
    }

    curves() {
      this.chart = svg('svg', { class: 'matrix-film-chart', viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: 'img' });
      this.chart.style.maxWidth = '26rem';
      const names = this.data.matrices.map(({ label }, i) => `${label} ${['solid', 'dashed', 'dotted'][i] ?? ''}`);
      return el('figure', '', this.chart, el('figcaption', '', `Share of pairs recalled: ${names.join(', ')}. Left of each `
        + 'pair of maps the matrix, right its target; blue above zero, orange below, on one scale for all steps.'));
    }

    start() {
      if (this.at === this.data.steps.length - 1) this.go(0);
      say(this.play, 'Pause');
      this.timer = setInterval(() => {
        if (!this.box.isConnected || this.at + 1 === this.data.steps.length) this.stop();
        else this.go(this.at + 1);
      }, PACE);
    }

    stop() {
      clearInterval(this.timer);
      this.timer = 0;
      say(this.play, 'Play');
    }

    go(at) {
      this.at = at;
      say(this.wrong, '');
      this.paint();
      if (!document.body.hasAttribute('data-jp-theme-light')) { // in a notebook the address is the notebook's
        history.replaceState(history.state, '', `#${this.data.name}?step=${this.data.steps[at]}`);
      }
    }

    paint() {
      const { data, at } = this;
      this.slider.value = at;
      this.slider.ariaValueText = `step ${data.steps[at]}`;
      say(this.summary, said(data, at));
      this.heats.forEach(({ shown, columns }, i) => matrixHeat.paint(shown, this.shades[i][at], columns, data.shades));
      this.paintCurves();
    }

    paintCurves() {
      const { steps, matrices } = this.data, { width, height, left, right, top, bottom } = SIZE, last = steps.at(-1) || 1;
      const x = step => left + (width - left - right) * step / last, y = value => top + (height - top - bottom) * (1 - value);
      const text = (words, at, anchor) => svg('text', { x: at[0], y: at[1], 'text-anchor': anchor }, words);
      const lines = matrices.map(({ recalled }, i) => svg('polyline', {
        class: `predicted series-${i}`,
        points: recalled.map((row, at) => `${x(steps[at])},${y(ones(row) / row.length)}`).join(' '),
      }));
      const here = x(steps[this.at]);
      this.chart.setAttribute('aria-label', `Share of pairs recalled through training; now at step ${steps[this.at]}.`);
      this.chart.replaceChildren(
        ...[0, 0.5, 1].flatMap(value => [svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
          text(`${100 * value} %`, [left - 4, y(value) + 4], 'end')]),
        text('0', [x(0), height - 20], 'start'), text(String(last), [x(last), height - 20], 'end'),
        text('step', [x(last / 2), height - 6], 'middle'),
        svg('line', { class: 'at', x1: here, x2: here, y1: top, y2: height - bottom }), ...lines);
    }
  }

  function mount() {
    for (const box of document.querySelectorAll('.matrix-film:not(.is-live)')) {
      try {
        new View(box, JSON.parse(box.querySelector('.matrix-film-data').textContent));
      } catch (error) {
        box.querySelector('.matrix-film-without')?.replaceChildren(`The film cannot run here: ${error.message}.`);
        console.error('the film stays a still picture:', error);
      }
    }
  }

  return { mount, said, unpack, read };
})();
matrixFilm.mount();
