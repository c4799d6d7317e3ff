// The pad: a matrix in which a reader stores pairs until it forgets. Mounts every `.memory-pad` that is not live yet;
// where that fails the still stays. Defines `memoryPad`.
globalThis.memoryPad = (() => {
  'use strict';
  const { WAYS, rows, keptBySums, Pad, found, summary, told, fixed, share } = memoryRules, { svg } = circuitSvg;
  const { el, say, enable, button, fill, toolbar } = pageParts('memory-pad');
  const HINT = 'Each number is a pair, with its margin as the height of its bar. Press one to choose it.';
  const SIZE = { width: 320, height: 150, left: 38, bottom: 34, top: 8, right: 8 };

  // There the address is the notebook's.
  const inNotebook = () => document.body.hasAttribute('data-jp-theme-light');

  class View {
    constructor(box, data) {
      Object.assign(this, { box, data, pad: new Pad(data), nodes: new Map() });
      this.vectors = Object.fromEntries(data.widths.map(d => [d, {
        inputs: rows(data.inputs[d], d), outputs: rows(data.outputs[d], d),
      }]));
      this.curves = new Map();
      const live = el('div', 'live', this.controls(), this.status(), el('div', 'panels', this.matrix(), this.pairs()));
      this.follow();
      box.append(live);
      box.classList.add('is-live');
      addEventListener('hashchange', () => this.box.isConnected && this.follow());
    }

    // What the address says, if it speaks of this pad.
    follow() {
      let wrong = '';
      try {
        const state = this.pad.read(location.hash);
        if (state) this.pad.set(state);
      } catch ({ message }) { wrong = `${message[0].toUpperCase()}${message.slice(1)}. What is shown stays.`; }
      this.paint(wrong);
    }

    controls() {
      const { data } = this, more = (n, words) => button('button', () => this.act(() => this.pad.store(n)), words);
      const choose = (change, node) => () => this.act(() => { this.pad.set({ ...this.pad.now, ...change(node()) }); return ''; });
      this.width = el('select', '', { onchange: choose(d => ({ width: Number(d) }), () => this.width.value) });
      fill(this.width, data.widths.map(d => [String(d), `${d} × ${d}`]));
      this.way = el('select', '', { onchange: choose(way => ({ way }), () => this.way.value) });
      fill(this.way, Object.entries(WAYS));
      this.steps = el('select', '', { onchange: choose(n => ({ steps: Number(n) }), () => this.steps.value) });
      fill(this.steps, data.steps.map(n => [String(n), String(n)]));
      this.stepField = el('label', 'field', 'Steps ', this.steps);
      this.number = el('input', 'number', { type: 'text', inputMode: 'numeric', autocomplete: 'off' });
      this.number.onchange = () => this.act(() => this.pad.typed(this.number.value));
      this.number.onkeydown = ({ key }) => { if (key === 'Enter') this.number.onchange(); };
      this.wrong = el('span', 'wrong', { role: 'alert', id: `${data.name}-wrong` });
      this.number.setAttribute('aria-describedby', this.wrong.id);
      this.take = button('button', () => this.takeAway());
      this.again = button('button', () => this.act(() => { this.pad.set(data.opening); return ''; }), 'Start over');
      const field = el('label', 'field', 'Pairs stored ', this.number);
      return el('div', 'controls',
        el('div', 'row', more(1, 'Store one more'), more(10, 'Store 10'), this.take, field, this.wrong),
        el('div', 'row', el('label', 'field', 'Matrix ', this.width), el('label', 'field', 'Filled by ', this.way),
          this.stepField, this.again));
    }

    status() {
      this.summary = el('p', 'summary', { role: 'status' });
      return this.summary;
    }

    matrix() {
      this.heat = matrixHeat.picture('memory-pad', 1, 1, '');
      this.largest = el('figcaption');
      return el('figure', '', this.heat, this.largest);
    }

    curve() {
      this.chart = svg('svg', { class: 'memory-pad-chart', viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: 'img' });
      const words = 'Share recalled by number of pairs. Line: noise alone, for sums. Dots: sums of these pairs, in order. '
        + 'Ring: the matrix shown.';
      return el('figure', '', this.chart, el('figcaption', '', words));
    }

    pairs() {
      this.list = el('div', 'pairs', { ariaLabel: 'Pairs' });
      this.stop = toolbar(this.list);
      this.readout = el('p', 'readout');
      this.legend = el('p', 'legend', el('span', 'key', el('i', 'swatch kept'), 'recalled'),
        el('span', 'key', el('i', 'swatch lost'), '✗ forgotten'), el('span', 'key', el('i', 'swatch gone'), 'taken away'));
      return el('div', 'part', this.legend, this.list, this.readout, this.curve());
    }

    takeAway() {
      const { pad } = this;
      this.act(() => {
        if (!pad.pair) return pad.takeLast();
        pad.flip(pad.pair);
        return '';
      });
    }

    // Do what the reader asked; where that cannot be, say why and leave all else.
    act(change) {
      const wrong = change();
      this.paint(wrong);
      if (!wrong && !inNotebook()) history.replaceState(history.state, '', this.pad.address);
    }

    // What was typed wrongly stays in its field, and all else as it was.
    paint(wrong = '') {
      say(this.wrong, wrong);
      this.number.setAttribute('aria-invalid', String(Boolean(wrong)));
      if (!wrong || !this.state) this.show();
    }

    show() {
      const { pad } = this;
      this.state = found(pad, this.vectors);
      Object.assign(this.width, { value: pad.width });
      Object.assign(this.way, { value: pad.way });
      Object.assign(this.steps, { value: pad.steps });
      this.stepField.hidden = pad.way !== 'descent';
      this.number.value = pad.count;
      const isOut = pad.out.includes(pad.pair);
      say(this.take, pad.pair ? (isOut ? `Store pair ${pad.pair} again` : `Take pair ${pad.pair} away`) : 'Take one away');
      enable(this.take, pad.pair || pad.count);
      say(this.summary, summary(pad, this.state));
      this.paintMatrix();
      this.paintPairs();
      this.paintChart();
    }

    paintMatrix() {
      const { memory, largest } = this.state, { width } = this.pad;
      this.heat.setAttribute('viewBox', `0 0 ${width} ${width}`);
      this.heat.setAttribute('aria-label', `The matrix: ${width} by ${width} numbers as colours`);
      say(this.largest, `W, largest entry ${fixed(largest, 2)}: blue above zero, orange below, the paler the smaller.`);
      const { shades } = this.data, shade = value => (largest ? Math.round(shades * value / largest) : 0);
      matrixHeat.paint(this.heat, memory.flatMap(row => [...row].map(shade)), width, shades);
    }

    // One button a pair, kept for as long as the pair is there, so that a keyboard keeps its place.
    paintPairs() {
      const { pad, state } = this, of = new Map(state.pairs.map(one => [one.id, one]));
      const most = state.pairs.reduce((top, { margin }) => Math.max(top, Math.abs(margin) || 0), 0) || 1;
      const shown = Array.from({ length: pad.pairs }, (_, i) => this.pairNode(i + 1));
      shown.forEach((node, i) => this.paintPair(node, i + 1, of.get(i + 1), most));
      while (this.list.childElementCount > shown.length) this.list.lastElementChild.remove();
      this.list.append(...shown.slice(this.list.childElementCount).map(({ cell }) => cell)); // a node moved loses focus
      this.stop(shown[pad.pair - 1]?.cell);
      const chosen = of.get(pad.pair), gone = pad.pair && !chosen ? `Pair ${pad.pair}: taken away.` : HINT;
      this.hint = chosen ? told(chosen) : gone;
      say(this.readout, document.activeElement?.closest?.('.memory-pad-pairs') === this.list && pad.pair
        ? document.activeElement.ariaLabel : this.hint);
    }

    pairNode(id) {
      if (!this.nodes.has(id)) {
        const bar = el('i', 'bar'), mark = el('span', 'mark'), number = el('span', 'id', String(id));
        const cell = button('pair', () => this.act(() => { this.pad.pair = this.pad.pair === id ? 0 : id; return ''; }),
          el('span', 'room', bar), number, mark);
        cell.onmouseenter = cell.onfocus = () => say(this.readout, cell.ariaLabel);
        cell.onmouseleave = cell.onblur = () => say(this.readout, this.hint);
        this.nodes.set(id, { cell, bar, mark });
      }
      return this.nodes.get(id);
    }

    paintPair({ cell, bar, mark }, id, one, most) {
      const kind = one ? (one.isRecalled ? 'kept' : 'lost') : 'gone';
      cell.className = `memory-pad-pair memory-pad-${kind}`;
      cell.ariaPressed = String(this.pad.pair === id);
      cell.ariaLabel = one ? told(one) : `Pair ${id}: taken away.`;
      bar.style.height = `${one && one.margin ? 100 * Math.abs(one.margin) / most : 0}%`;
      say(mark, kind === 'lost' ? '✗' : '');
    }

    // Points [number of pairs, share] of the sums of the first pairs.
    drawn(width) {
      if (!this.curves.has(width)) {
        const { inputs, outputs } = this.vectors[width];
        this.curves.set(width, keptBySums(inputs, outputs).map((kept, i) => kept / (i + 1)));
      }
      return this.curves.get(width);
    }

    paintChart() {
      const { pad, state, data } = this, { width, height, left, right, top, bottom } = SIZE, n = data.n_pairs;
      const x = count => left + (width - left - right) * count / n, y = value => top + (height - top - bottom) * (1 - value);
      const line = data.predicted[pad.width].flatMap((value, i) => (value === null ? [] : [`${x(i + 1)},${y(value)}`]));
      const tick = (text, at, ...how) => svg('text', { x: at[0], y: at[1], 'text-anchor': how[0] }, text);
      const base = height - bottom, dots = this.drawn(pad.width).map((value, i) => svg('circle', {
        class: 'drawn', cx: x(i + 1), cy: y(value), r: 1.3,
      }));
      const now = pad.count ? [svg('circle', { class: 'now', cx: x(pad.count), cy: y(state.kept / pad.count), r: 5 })] : [];
      this.chart.setAttribute('aria-label', 'Share of pairs recalled against the number of pairs stored, as predicted '
        + `and as measured; ${pad.count ? share(state.kept / pad.count) : 'nothing'} at ${pad.count} pairs.`);
      this.chart.replaceChildren(
        ...[0, 0.5, 1].flatMap(value => [svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
          tick(`${100 * value} %`, [left - 4, y(value) + 4], 'end')]),
        ...[0, n / 2, n].map((count, i) => tick(String(count), [x(count), base + 14], ['start', 'middle', 'end'][i])),
        tick('pairs stored', [x(n / 2), base + 28], 'middle'),
        svg('polyline', { class: 'predicted', points: line.join(' ') }), ...dots, ...now);
    }
  }

  function mount() {
    for (const box of document.querySelectorAll('.memory-pad:not(.is-live)')) {
      try {
        new View(box, JSON.parse(box.querySelector('.memory-pad-data').textContent));
      } catch (error) {
        box.querySelector('.memory-pad-without')?.replaceChildren(`The pad cannot run here: ${error.message}.`);
        console.error('the pad stays a still picture:', error);
      }
    }
  }

  return { mount };
})();
memoryPad.mount();
