// A matrix that holds pairs, without the page: what is stored, how, what is recalled, and sentences about it. The
// arithmetic is that of memory_sums.py, in float64. Defines `memoryRules`.
globalThis.memoryRules = (() => {
  'use strict';
  const WAYS = { sum: 'sum of outer products', step: 'one gradient step', descent: 'gradient descent' };
  const fixed = (value, digits) => value.toFixed(digits).replace('-', '−');
  const share = value => `${(100 * value).toFixed(1)}\u00a0%`;
  const some = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

  // Rows of float32 numbers from base64, as float64: one array a row.
  function rows(text, width) {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0)), view = new DataView(bytes.buffer);
    if (bytes.length % (4 * width)) throw new Error(`${bytes.length} bytes are no rows of ${width} numbers`);
    const at = (row, column) => view.getFloat32(4 * (row * width + column), true);
    return Array.from({ length: bytes.length / (4 * width) }, (_, row) => (
      Float64Array.from({ length: width }, (_, column) => at(row, column))));
  }

  const dot = (a, b) => {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  };

  // W += scale * u e^T
  function add(memory, u, e, scale) {
    memory.forEach((row, i) => {
      const times = scale * u[i];
      for (let j = 0; j < row.length; j++) row[j] += times * e[j];
    });
  }

  const zeros = width => Array.from({ length: width }, () => new Float64Array(width));

  // Scores [pair][output] of a matrix.
  function scored(memory, inputs, outputs) {
    return inputs.map(e => {
      const answer = memory.map(row => dot(row, e)), scores = new Float64Array(outputs.length);
      for (let k = 0; k < scores.length; k++) scores[k] = dot(outputs[k], answer);
      return scores;
    });
  }

  function mean(outputs, width) {
    const sum = new Float64Array(width);
    for (const u of outputs) for (let i = 0; i < width; i++) sum[i] += u[i];
    return sum.map(value => value / outputs.length);
  }

  // Turn scores into p_hat - p, where `own` is right.
  function lessTheTruth(scores, own) {
    let top = -Infinity, sum = 0;
    for (let k = 0; k < scores.length; k++) top = Math.max(top, scores[k]);
    for (let k = 0; k < scores.length; k++) sum += scores[k] = Math.exp(scores[k] - top);
    for (let k = 0; k < scores.length; k++) scores[k] /= sum;
    scores[own] -= 1;
  }

  function descend(memory, inputs, outputs, steps, rate) {
    const push = new Float64Array(memory.length);
    for (let step = 0; step < steps; step++) {
      scored(memory, inputs, outputs).forEach((wrong, pair) => {
        lessTheTruth(wrong, pair);
        push.fill(0);
        for (let k = 0; k < wrong.length; k++) {
          const u = outputs[k];
          for (let i = 0; i < push.length; i++) push[i] += wrong[k] * u[i];
        }
        add(memory, push, inputs[pair], -rate);
      });
    }
  }

  // The matrix that stores these pairs.
  function fill({ way, steps, rate, width }, inputs, outputs) {
    const memory = zeros(width);
    if (!inputs.length) return memory;
    if (way === 'descent') descend(memory, inputs, outputs, steps, rate);
    else {
      const less = way === 'step' ? mean(outputs, width) : new Float64Array(width);
      outputs.forEach((u, pair) => add(memory, u.map((value, i) => value - less[i]), inputs[pair], 1));
    }
    return memory;
  }

  // What it answers to each pair: { margin, answer, isRecalled }; the margin of one pair alone is NaN.
  function recall(memory, inputs, outputs) {
    return scored(memory, inputs, outputs).map((scores, own) => {
      let rival = -1;
      scores.forEach((score, k) => { if (k !== own && (rival < 0 || score > scores[rival])) rival = k; });
      const margin = rival < 0 ? NaN : scores[own] - scores[rival], isRecalled = !(margin <= 0);
      return { margin, answer: isRecalled ? own : rival, isRecalled };
    });
  }

  // How many of the first 1, 2, ... pairs their sum recalls.
  function keptBySums(inputs, outputs) {
    const scores = inputs.map(() => new Float64Array(inputs.length));
    return inputs.map((last, at) => {
      const alike = outputs.map(output => dot(outputs[at], output));
      let kept = 0;
      scores.forEach((row, asked) => {
        const near = dot(inputs[asked], last);
        for (let k = 0; k < row.length; k++) row[k] += near * alike[k];
      });
      for (let own = 0; own <= at; own++) {
        let top = -Infinity;
        for (let k = 0; k <= at; k++) if (k !== own) top = Math.max(top, scores[own][k]);
        kept += scores[own][own] > top;
      }
      return kept;
    });
  }

  // What is stored, and how. `pairs` counts those that were stored, of which those in `out` were taken away again.
  class Pad {
    constructor(data) {
      Object.assign(this, { data, opening: data.opening });
      this.set(this.opening);
    }

    get most() { return this.data.n_pairs; }
    get count() { return this.pairs - this.out.length; }
    get load() { return this.count ? this.count * Math.log(this.count) / this.width ** 2 : 0; }
    get ids() { return Array.from({ length: this.pairs }, (_, i) => i + 1).filter(id => !this.out.includes(id)); }
    get predicted() { return this.data.predicted[this.width][this.count - 1] ?? null; }

    set(state) { Object.assign(this, { out: [], pair: 0, ...state }); }

    // Each of these says what is wrong, or '' where it was done.
    store(more) {
      const room = this.most - this.pairs;
      if (more > room) return `This page has ${this.most} pairs, of which ${room || 'none'} ${room === 1 ? 'is' : 'are'} left.`;
      this.pairs += more;
      return '';
    }

    typed(text) {
      const n = /^\d{1,6}$/.test(text.trim()) ? Number(text) : NaN, still = `Still ${some(this.count, 'pair')}.`;
      if (Number.isNaN(n)) return `“${text}” is no number of pairs: 0 to ${this.most}, in digits. ${still}`;
      if (n > this.most) return `${n} are more than the ${this.most} pairs of this page. ${still}`;
      this.set({ ...this.now, pairs: n, out: [], pair: 0 });
      return '';
    }

    // The one that is chosen, else the last one; or back again.
    flip(id) {
      if (this.out.includes(id)) this.out = this.out.filter(other => other !== id);
      else this.out = [...this.out, id].sort((a, b) => a - b);
    }

    takeLast() {
      if (!this.count) return 'Nothing is stored.';
      this.pairs = this.ids.at(-1) - 1;
      this.out = this.out.filter(id => id <= this.pairs);
      if (this.pair > this.pairs) this.pair = 0;
      return '';
    }

    get now() {
      const { width, pairs, way, steps, out, pair } = this;
      return { width, pairs, way, steps, out, pair };
    }

    get address() {
      const { width, pairs, way, steps, out, pair } = this, said = { d: width, pairs, way };
      if (way === 'descent') said.steps = steps;
      if (out.length) said.out = out.join('.');
      if (pair) said.pair = pair;
      return `#${this.data.name}?${new URLSearchParams(said)}`;
    }

    // The state that an address names; null where it names none of this pad. Throws a sentence where it cannot be.
    read(address) {
      if (!address.startsWith(`#${this.data.name}?`)) return null;
      const said = new URLSearchParams(address.slice(this.data.name.length + 2)), { opening } = this;
      const one = (name, known, allowed) => {
        const given = said.get(name) ?? String(known);
        if (allowed.map(String).includes(given)) return given;
        throw new Error(`the address has ${name} = “${given}”; it can be ${allowed.join(', ')}`);
      };
      const whole = (name, text, least, most) => {
        if (/^\d{1,6}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
        throw new Error(`the address has ${name} = “${text}”; it can be ${least} to ${most}`);
      };
      const pairs = whole('pairs', said.get('pairs') ?? String(opening.pairs), 0, this.most);
      const out = (said.get('out') ?? '').split('.').filter(Boolean).map(text => whole('out', text, 1, pairs));
      return {
        pairs, out: [...new Set(out)].sort((a, b) => a - b),
        width: Number(one('d', opening.width, this.data.widths)),
        way: one('way', opening.way, Object.keys(WAYS)),
        steps: Number(one('steps', opening.steps, this.data.steps)),
        pair: said.has('pair') ? whole('pair', said.get('pair'), 1, pairs) : 0,
      };
    }
  }

  // What the page knows of one state: the matrix, and each pair's { id, margin, answer (an id), isRecalled }.
  function found(pad, vectors) {
    const { ids, width, way, steps } = pad, of = kind => ids.map(id => vectors[width][kind][id - 1]);
    const inputs = of('inputs'), outputs = of('outputs'), { rate } = pad.data;
    const memory = fill({ way, steps, rate, width }, inputs, outputs);
    const pairs = recall(memory, inputs, outputs).map((one, i) => ({ ...one, id: ids[i], answer: ids[one.answer] }));
    const largest = memory.reduce((top, row) => row.reduce((best, value) => Math.max(best, Math.abs(value)), top), 0);
    return { memory, pairs, largest, kept: pairs.filter(({ isRecalled }) => isRecalled).length };
  }

  // Of all pairs.
  function summary(pad, { kept }) {
    const { count, width, predicted } = pad;
    if (!count) return `Nothing is stored in ${width} × ${width} numbers.`;
    const how = pad.way === 'descent' ? `${some(pad.steps, 'step')} of gradient descent` : WAYS[pad.way];
    const held = `${some(count, 'pair')} in ${width} × ${width} numbers, load ${fixed(pad.load, 2)}, by ${how}: `
      + `${kept} recalled, ${count - kept} forgotten, ${share(kept / count)}.`;
    if (predicted === null) return `${held} With fewer than three pairs there is nothing to predict.`;
    const known = pad.way === 'sum' ? 'Noise alone predicts' : 'For a sum, noise alone predicts';
    return `${held} ${known} ${share(predicted)} on average over draws, of which this is one.`;
  }

  // Of one pair.
  function told({ id, margin, answer, isRecalled }) {
    if (Number.isNaN(margin)) return `Pair ${id}: recalled; it has no rival.`;
    const by = `margin ${fixed(margin, 2)}`;
    return isRecalled ? `Pair ${id}: recalled, ${by}.` : `Pair ${id}: forgotten, ${by}; the answer is output ${answer}.`;
  }

  return { WAYS, rows, fill, recall, keptBySums, Pad, found, summary, told, fixed, share };
})();
