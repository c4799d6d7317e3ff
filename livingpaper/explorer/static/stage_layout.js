// Where everything of a drawn circuit stands: the geometry of livingpaper/figures/circuit_layout.py, in its three forms.
// Defines `circuitLayout`.
globalThis.circuitLayout = (() => {
  'use strict';
  const MEASURES = {
    wide: { before: 54, pitch: 50, token: 30, gap: 118, beyond: 112, thin: 1.2, thick: 7.8 },
    tall: { before: 34, pitch: 30, token: 54, gap: 118, beyond: 40, thin: 1.2, thick: 6.8 },
    small: { before: 1, pitch: 6, token: 5, gap: 27, beyond: 13, thin: 0.5, thick: 2.2 },
  };
  const CHARACTER = 9.2, AROUND = 14, ROOM = 730, NARROW = 26, LINE = 26, SQUEEZED = 1.08;
  const HIGH = 280, FAR = 354, LONG = 430, CLOSE = 19, MARK = 10.5, MARK_ACROSS = 15, NODE = 4, ANSWER = 18, SMALL_ANSWER = 2.5;
  const sum = list => list.reduce((total, value) => total + value, 0);

  class Layout {
    // circuit: of `circuitMoves`.
    constructor(circuit, form) {
      const size = MEASURES[form], { tokens, links } = circuit;
      Object.assign(this, { circuit, form, size, isTall: form === 'tall', isSmall: form === 'small' });
      const marks = links.flatMap(link => link.arrows
        .filter(({ brings, target }) => !this.isSmall && brings && target !== null)
        .map(arrow => ({ arrow, link, at: [arrow.target, arrow.layer + 1] })));
      this.marks = new Map(marks.map(mark => [mark.at.join(' '), mark])); // by position and row
      const brought = new Map([...this.marks.values()].map(({ at }) => [at[0], 2 * this.halfMarkAcross(at) + 4]));
      const words = tokens.map(({ word, tone }, at) =>
        Math.max(word.length * CHARACTER + (tone ? AROUND : 0), brought.get(at) ?? 0));
      const roomy = words.map(word => Math.max(NARROW, word)), isWide = form === 'wide';
      this.isUpright = isWide && size.before + sum(roomy) > SQUEEZED * ROOM;
      const longest = Math.max(0, ...tokens.map(({ word }) => word.length));
      this.tokenWidth = Math.max(size.token, longest * CHARACTER + AROUND);
      const widest = Math.max(size.pitch, ...words), same = length => tokens.map(() => length);
      this.pitches = !isWide ? same(Math.min(size.pitch, Math.max(CLOSE, LONG / tokens.length)))
        : this.isUpright ? same(LINE) : size.before + widest * tokens.length <= ROOM ? same(widest) : roomy;
      this.answerHalf = Math.max(22, circuit.answer.word.length * 5.5 + 9);
      this.alongs = tokens.map((_, at) => size.before + sum(this.pitches.slice(0, at)) + this.pitches[at] / 2);
      const marked = [...this.marks.values()].flatMap(({ arrow, at }) => [arrow.brings, tokens[at[0]].word]);
      this.markHalf = isWide ? MARK
        : Math.max(MARK_ACROSS, ...marked.map(word => word.length * CHARACTER / 2 + 5));
      const along = size.before + sum(this.pitches), across = this.depth(circuit.layers) + size.beyond;
      if (this.isTall) {
        this.width = Math.max(across, this.depth(circuit.layers) + this.answerHalf);
        this.height = this.alongs.at(-1) + 66 + ANSWER + 2;
      } else {
        this.width = along + (this.isSmall ? 0 : Math.max(0, this.answerHalf - this.pitches.at(-1) / 2));
        this.height = across;
      }
      this.answer = this.#answer();
      this.fitting = this.#fitting();
    }

    // How far a row is from the outer edge of the tokens.
    depth(row) {
      const { isTall, circuit: { layers }, size: { gap, token } } = this;
      return (isTall || this.isUpright ? this.tokenWidth : token)
        + row * Math.min(isTall ? gap * Math.max(1, 2 / layers) : gap, (isTall ? FAR : HIGH) / layers);
    }

    point(position, row) {
      const along = this.alongs[position], depth = this.depth(row);
      return this.isTall ? [depth, along] : [along, this.height - depth];
    }

    #answer() {
      const [x, y] = this.point(this.circuit.tokens.length - 1, this.circuit.layers);
      return this.isTall ? [x, y + 66] : [x, y - (this.isSmall ? 10 : 86)];
    }

    isLabelled(at) { return this.marks.has(at.join(' ')) && this.circuit.tokens[at[0]].tone > 0; }

    halfMarkAcross(at) {
      const own = this.isLabelled(at) ? this.circuit.tokens[at[0]].word : '';
      return Math.max(MARK_ACROSS, Math.max(this.marks.get(at.join(' ')).arrow.brings.length, own.length) * CHARACTER / 2 + 5);
    }

    // Marks that are alike at both ends of a later arrow.
    #fitting() {
      const found = new Set();
      for (const { source, target, layer } of this.circuit.links.flatMap(({ arrows }) => arrows)) {
        const ends = [`${source} ${layer}`, `${target} ${layer}`];
        const [a, b] = ends.map(end => this.marks.get(end)?.arrow.brings);
        if (a !== undefined && a === b) ends.forEach(end => found.add(end));
      }
      return found;
    }

    #edge(at, outwards) {
      const [x, y] = this.point(...at), isMarked = this.marks.has(at.join(' '));
      const half = !at[1] || this.isSmall ? 0
        : isMarked ? this.markHalf + (outwards > 0 && this.isLabelled(at) ? 2 * this.markHalf : 0) : NODE;
      return this.isTall ? [x + outwards * half, y] : [x, y - outwards * half];
    }

    ends({ source, target, layer }) {
      const at = [source, layer];
      if (target !== null) return [this.#edge(at, 1), this.#edge([target, layer + 1], -1)];
      const [x, y] = this.answer, below = this.marks.has(at.join(' ')) ? MARK : NODE;
      return this.isTall ? [[x, this.point(...at)[1] + below], [x, y - ANSWER]]
        : [this.#edge(at, 1), [x, y + (this.isSmall ? SMALL_ANSWER : ANSWER)]];
    }

    isSideways({ target }) { return this.isTall && target !== null; }

    // So far before an arrow's tip, in the direction in which it arrives.
    beforeTip(arrow, length) {
      const [[, y1], [x2, y2]] = this.ends(arrow);
      return this.isSideways(arrow) ? [x2 - length, y2] : [x2, y2 + (y2 < y1 ? length : -length)];
    }

    // The four points of a cubic that leaves and arrives across the rows.
    curve(arrow, end) {
      const [x1, y1] = this.ends(arrow)[0], [x2, y2] = end, [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
      return this.isSideways(arrow) ? [[x1, y1], [x, y1], [x, y2], end] : [[x1, y1], [x1, y], [x2, y], end];
    }

    onCurve(arrow, share) {
      const rest = 1 - share, weights = [rest ** 3, 3 * rest ** 2 * share, 3 * rest * share ** 2, share ** 3];
      const points = this.curve(arrow, this.ends(arrow)[1]);
      return [0, 1].map(axis => sum(points.map((point, i) => weights[i] * point[axis])));
    }

    lineWidth({ weight }) { return this.size.thin + this.size.thick * (weight ?? 0.5); }
  }

  return { Layout, MARK, NODE, ANSWER, SMALL_ANSWER };
})();
