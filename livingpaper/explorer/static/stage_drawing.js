// A circuit as SVG elements, with the classes of livingpaper/figures/circuit_drawing.py. Defines `circuitDrawing`.
globalThis.circuitDrawing = (() => {
  'use strict';
  const { svg, round } = circuitSvg, { MARK, NODE, ANSWER } = circuitLayout;
  const { namesOf, BADGE } = circuitNames;
  const OUTLINE = { fill: 'none', stroke: 'currentColor' }, HIT = 16; // wider than the widest line
  const points = list => list.map(point => point.map(round).join(' ')).join(' ');
  const isWrong = ({ word, wanted }) => wanted !== null && word !== wanted;
  // How sure an answer is, and what it should have been.
  const sure = (answer, likely) => likely(answer.probability) + (isWrong(answer) ? `, not ${answer.wanted}` : '');
  const status = is => (is ? 'is-supported' : 'is-unsupported');

  const group = (names, ...children) => svg('g', { class: names }, ...children);
  const text = (words, [x, y], names = '', anchor = 'middle') =>
    svg('text', { x, y, 'text-anchor': anchor, ...(names && { class: names }) }, words);
  const box = ([x, y], [across, up], rx) =>
    svg('rect', { x: x - across, y: y - up, width: 2 * across, height: 2 * up, rx, ...OUTLINE });

  // What a reader can press: its name, what else is said when it is pointed at, what it does. Kept by key through every
  // repaint.
  function pressed(node, press) {
    if (!press) return node;
    const { key, label, more, act, isOn } = press;
    node.dataset.key = key;
    node.classList.add('can-press');
    return Object.assign(node, {
      role: 'button', ariaLabel: label, ariaDescription: more, ariaPressed: isOn ?? null, tabIndex: -1,
      says: label + more, act,
    });
  }

  function pathOf(layout, arrow, end) {
    const [start, ...bends] = layout.curve(arrow, end);
    return `M${points([start])}C${points(bends)}`;
  }

  function line(layout, arrow, end, more = {}) {
    const d = pathOf(layout, arrow, end);
    return svg('path', { class: 'line', d, ...OUTLINE, 'stroke-width': layout.lineWidth(arrow), ...more });
  }

  // Around a line room for a finger.
  const hit = (layout, arrow) => svg('path', {
    class: 'hit', d: pathOf(layout, arrow, layout.ends(arrow)[1]), fill: 'none', 'stroke-width': HIT,
  });

  // A line, its head, and room for a finger.
  function arrowNode(layout, link, arrow, press) {
    const tip = layout.ends(arrow)[1], width = layout.lineWidth(arrow), isSolid = link.isSupported;
    const dashed = isSolid ? {} : { 'stroke-dasharray': '6 4', opacity: 0.6 };
    const half = width / 2 + 3.2, base = layout.beforeTip(arrow, Math.min(9, 5 + width / 2)), [x, y] = base;
    const corners = layout.isSideways(arrow) ? [[x, y - half], [x, y + half]] : [[x - half, y], [x + half, y]];
    const d = `M${points([corners[0]])}L${points([tip, corners[1]])}Z`;
    const head = svg('path', { class: 'head', d, ...(isSolid ? {} : OUTLINE) });
    return pressed(group(arrow.isCut ? 'arrow is-cut' : 'arrow', hit(layout, arrow), line(layout, arrow, base, dashed), head), press);
  }

  function columns(layout) {
    const { circuit: { tokens, links, looks, layers }, marks } = layout;
    const arrows = [...links.flatMap(link => link.arrows), ...looks];
    const met = new Set(arrows.flatMap(a => [`${a.source} ${a.layer}`, `${a.target} ${a.layer + 1}`]));
    return tokens.flatMap((_, position) => {
      const [x1, y1] = layout.point(position, 0), [x2, y2] = layout.point(position, layers);
      const rows = Array.from({ length: layers }, (_, row) => row + 1);
      const dots = rows.filter(row => met.has(`${position} ${row}`) && !marks.has(`${position} ${row}`));
      return [svg('line', { class: 'stream', x1, y1, x2, y2 }), ...dots.map(row => {
        const [cx, cy] = layout.point(position, row);
        return svg('circle', { class: 'node', cx, cy, r: NODE });
      })];
    });
  }

  function rows(layout) {
    const { isTall, circuit: { layers } } = layout, anchor = isTall ? 'middle' : 'start';
    const names = Array.from({ length: layers }, (_, layer) => {
      const [a, b] = [layout.point(0, layer), layout.point(0, layer + 1)];
      return text(`layer ${layer}`, isTall ? [(a[0] + b[0]) / 2, 14] : [0, (a[1] + b[1]) / 2 + 4], 'quiet', anchor);
    });
    const at = isTall ? [layout.tokenWidth / 2, 14] : [0, layout.point(0, 0)[1] + 20];
    return [...names, text('prompt', at, 'quiet', anchor)];
  }

  function looks(layout, pressOf) {
    const nodes = layout.circuit.looks.map(arrow => {
      const parts = [hit(layout, arrow), line(layout, arrow, layout.ends(arrow)[1])];
      return pressed(group(arrow.isCut ? 'look is-cut' : 'look', ...parts), pressOf(null, arrow));
    });
    return nodes.length ? [group('looks tone-0', ...nodes)] : [];
  }

  const look = ({ number, isSupported, isLit, isRemoved }) =>
    `move-${number} ${status(isSupported)}${isLit ? ' is-lit' : ''}${isRemoved ? ' is-removed' : ''}`;

  // nodeOf(arrow): how its arrows are drawn.
  function linkNode(link, nodeOf) {
    return group(`link ${look(link)}`, ...link.arrows.map(nodeOf));
  }

  const labelled = (word, [x, y], half) => [box([x, y], half, 3), text(word, [x, y + 4.5])];

  function marks(layout) {
    const { circuit: { tokens }, isTall, fitting } = layout;
    return [...layout.marks].flatMap(([key, { arrow, link, at }]) => {
      const [x, y] = layout.point(...at), half = [isTall ? layout.markHalf : layout.halfMarkAcross(at), MARK];
      const alike = fitting.has(key) && link.isSupported ? ' is-alike' : '', own = tokens[at[0]];
      const names = `brought tone-${tokens[arrow.source].tone} ${status(link.isSupported)}${alike}`;
      const mark = group(names, ...labelled(arrow.brings, [x, y], half));
      if (!layout.isLabelled(at)) return [mark];
      const beside = isTall ? [x + 2 * half[0], y] : [x, y - 2 * half[1]];
      return [group(`brought tone-${own.tone} is-supported`, ...labelled(own.word, beside, half)), mark];
    });
  }

  function tokenNode(layout, { word, tone }, position, press) {
    const [x, y] = layout.point(position, 0), across = layout.tokenWidth / 2, { isTall, isUpright, size } = layout;
    const [middle, half] = isTall ? [[x - across, y], [across, Math.min(14, layout.pitches[position] / 2 - 1)]]
      : isUpright ? [[x, y + across], [layout.pitches[position] / 2 - 2, across]]
        : [[x, y + size.token / 2], [layout.pitches[position] / 2 - 4, size.token / 2]];
    const upright = { transform: `translate(${round(x + 4.5)} ${round(y + 7)}) rotate(-90)`, 'text-anchor': 'end' };
    const label = isUpright ? svg('text', upright, word) : text(word, [middle[0], middle[1] + 5]);
    const node = group(`token tone-${tone}`, ...(tone ? [box(middle, half, 5)] : []), label);
    node.dataset.position = position;
    return pressed(node, press);
  }

  function answerNodes(layout, likely) {
    const { circuit: { answer }, answer: [x, y], answerHalf: half } = layout;
    return [
      group(`answer tone-${answer.tone}${isWrong(answer) ? ' is-wrong' : ''}`,
        box([x, y], [half, ANSWER], 6), text(answer.word, [x, y + 7])),
      text(`answer, ${sure(answer, likely)}`, [x - half - 8, y + 5], 'quiet', 'end'),
    ];
  }

  function nameNode({ link, badge: [cx, cy], words: [x, y], anchor }, press) {
    const head = svg('tspan', { class: 'who', dx: 5 }, link.head);
    return pressed(group(`name ${look(link)}`, svg('circle', { cx, cy, r: BADGE }),
      text(String(link.number), [cx, cy + 4.5]), svg('text', { class: 'move', x, y, 'text-anchor': anchor }, link.move.name, head)),
    press);
  }

  // Supported ones over the others.
  const inOrder = (all, of = one => one) => [...all].sort((a, b) => of(a).isSupported - of(b).isSupported);

  // of: { arrow(link or null, arrow), token(position), name(link) } -> as `pressed` takes it, or nothing.
  function contents(layout, of, likely) {
    const { circuit } = layout;
    const links = inOrder(circuit.links)
      .map(link => linkNode(link, arrow => arrowNode(layout, link, arrow, of.arrow(link, arrow))));
    return [
      ...columns(layout), ...rows(layout), ...looks(layout, of.arrow), ...links, ...marks(layout),
      ...circuit.tokens.map((token, position) => tokenNode(layout, token, position, of.token(position))),
      ...answerNodes(layout, likely),
      ...inOrder(namesOf(layout), ({ link }) => link).map(name => nameNode(name, of.name(name.link))),
    ];
  }

  function put(node, layout, contents) {
    node.setAttribute('viewBox', `-1 -1 ${round(layout.width + 2)} ${round(layout.height + 2)}`);
    node.setAttribute('class', `circuit-${layout.form}`);
    node.replaceChildren(...contents);
  }

  // Into an svg that stays: its focus does, too; where what had it is gone, at the next of its kind.
  function draw(node, layout, press, likely) {
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    put(node, layout, contents(layout, press, likely));
    if (!focused) return;
    const one = which => node.querySelector(`[data-key${which}]`), [kind] = focused.split(' ');
    (one(`="${focused}"`) ?? one(`^="${kind}"`) ?? one(''))?.focus({ preventScroll: true });
  }

  return { draw, put, line, linkNode, inOrder, sure };
})();
