// Where the names of a drawn circuit's links stand, as livingpaper/figures/circuit_names.py has them. Defines
// `circuitNames`.
globalThis.circuitNames = (() => {
  'use strict';
  const BADGE = 9, MOVE_CHARACTER = 10.3, WHO_CHARACTER = 7.8, LINE_HALF = 8, SAMPLES = 24;
  const ALONG = [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78, 0.14, 0.86];
  const { MARK, ANSWER } = circuitLayout;

  // A box: [left, top, right, bottom].
  const meets = (a, b) => Math.min(a[2], b[2]) > Math.max(a[0], b[0]) && Math.min(a[3], b[3]) > Math.max(a[1], b[1]);
  const holds = (box, [x, y]) => box[0] < x && x < box[2] && box[1] < y && y < box[3];

  function nameAt(link, [x, y], anchor, lift) {
    const isEnd = anchor === 'end', words = [isEnd ? x - BADGE - 6 : x + BADGE + 6, y + lift];
    const length = MOVE_CHARACTER * link.move.name.length + 5 + WHO_CHARACTER * link.head.length;
    const left = words[0] - (isEnd ? length : 0), middle = words[1] - 5;
    const around = [left, middle - LINE_HALF, left + length, middle + LINE_HALF];
    const box = [
      Math.min(around[0], x - BADGE), Math.min(around[1], y - BADGE),
      Math.max(around[2], x + BADGE), Math.max(around[3], y + BADGE)];
    return { link, badge: [x, y], words, anchor, around, box };
  }

  function candidates(layout, link) {
    const [arrow] = link.arrows, [[x1, y1], [x2, y2]] = layout.ends(arrow), { isTall } = layout;
    const isLong = (isTall ? Math.abs(y2 - y1) : Math.abs(x2 - x1)) > 2 * layout.size.pitch;
    const lifts = isLong && !isTall ? [-9, 5] : [5]; // over its own line, or on it
    return lifts.flatMap(lift => ALONG.flatMap(share => {
      const at = layout.onCurve(arrow, share);
      const both = [nameAt(link, at, 'end', lift), nameAt(link, at, 'start', isTall ? 3 : lift)];
      return layout.isSideways(arrow) && !isLong ? both.reverse() : both;
    }));
  }

  // Where marks and the answer stand, in the tall form the tokens, in the wide form the words before the rows.
  function takenBy(layout) {
    const boxes = [...layout.marks.values()].map(({ at }) => {
      const [x, y] = layout.point(...at), n = layout.isLabelled(at) ? 3 : 1;
      const half = layout.isTall ? layout.markHalf : layout.halfMarkAcross(at);
      return layout.isTall ? [x - half, y - MARK, x + n * half, y + MARK] : [x - half, y - n * MARK, x + half, y + MARK];
    });
    const [x, y] = layout.answer;
    boxes.push([0, y - ANSWER, x + layout.answerHalf, y + ANSWER]);
    if (layout.isTall) return [...boxes, [0, 0, layout.tokenWidth, y]];
    for (let row = 0; row < layout.circuit.layers; row++) {
      const middle = (layout.point(0, row)[1] + layout.point(0, row + 1)[1]) / 2;
      boxes.push([0, middle - LINE_HALF, 44, middle + LINE_HALF]);
    }
    return boxes;
  }

  // One for each link: of the places that are free, the first on which least of any arrow lies.
  function namesOf(layout) {
    const { links } = layout.circuit, { width, height } = layout, taken = takenBy(layout);
    const parts = Array.from({ length: SAMPLES + 1 }, (_, part) => part / SAMPLES);
    const lines = links.flatMap(({ arrows }) => arrows)
      .flatMap(arrow => parts.map(share => layout.onCurve(arrow, share)));
    return links.map(link => {
      const all = candidates(layout, link);
      const free = all.filter(({ box }) => box[0] >= 0 && box[2] <= width && box[3] < height)
        .filter(({ box }) => !taken.some(other => meets(box, other)));
      const crossed = ({ around }) => lines.filter(point => holds(around, point)).length;
      const [best] = [...free.sort((a, b) => crossed(a) - crossed(b)), all[0]];
      taken.push(best.box);
      return best;
    });
  }

  return { namesOf, BADGE };
})();
