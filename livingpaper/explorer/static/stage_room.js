// The room of a drawn circuit: it is drawn anew where its width is another, and what is in it can be pointed at,
// pressed and dragged. Defines `circuitRoom`.
globalThis.circuitRoom = (() => {
  'use strict';
  const { el, say, toolbar } = pageParts('explorer'), { cut } = editText;
  const NARROW = 544; // pixels, 34 rem: below it words stand in a column

  // What a reader does in the room of a drawing: the readout says what is pointed at; it can be pressed; put(from, to) a
  // dragged token. The room listens: an SVG that listens to the focus takes it.
  // Gives tell(hint, isNew), to be called when the drawing is another: the readout then says what is pointed at as it is
  // now; the hint where that is gone, and where nothing was pointed at in a new one.
  function listen(room, readout, put) {
    let pointed = null; // a key
    const pressAt = event => event.target.closest?.('[data-key]');
    const point = event => {
      const node = pressAt(event);
      if (!node) return;
      pointed = node.dataset.key;
      say(readout, node.says);
    };
    room.addEventListener('pointerover', point);
    room.addEventListener('focusin', point);
    room.addEventListener('click', event => pressAt(event)?.act());
    room.addEventListener('keydown', event => {
      if (!['Enter', ' '].includes(event.key)) return;
      event.preventDefault();
      pressAt(event)?.act();
    });
    // Of another button the end may not be told: its menu takes it. A finger that scrolls ends in pointercancel.
    room.addEventListener('pointerdown', ({ target, button, pointerId }) => {
      const from = target.closest('[data-position]'), drag = new AbortController();
      if (!from || button) return;
      from.classList.add('is-dragged');
      const end = event => {
        if (event.pointerId !== pointerId) return;
        drag.abort();
        from.classList.remove('is-dragged');
        if (event.type === 'pointercancel') return;
        const to = document.elementFromPoint(event.clientX, event.clientY)?.closest('[data-position]');
        if (to && to !== from && room.contains(to)) put(Number(from.dataset.position), Number(to.dataset.position));
      };
      addEventListener('pointerup', end, drag);
      addEventListener('pointercancel', end, drag);
    });
    return (hint, isNew) => {
      if (isNew) pointed = null;
      else if (pointed === null) return;
      say(readout, room.querySelector(`[data-key="${pointed}"]`)?.says ?? hint);
    };
  }

  // What an arrow of a circuit says and does. tested(link): what tests found of it; edit(texts): makes edits, or takes
  // them back.
  function arrowPress({ tokens }, link, arrow, { tested, edit }) {
    const { source, target, weight, layer, isCut } = arrow, [query, key] = [target, source].map(at => tokens[at].word);
    const who = link ? `${link.number}, ${link.move.name}: ${link.head}` : arrow.head;
    const seen = isCut ? 'cut' : `attention ${weight.toFixed(2)}`;
    const what = link ? tested(link) : 'No test speaks of it: attention, no part of a mechanism.';
    return {
      key: `${link?.number ?? 'look'} ${layer} ${source} ${target}`, label: `${who}: ${query} reads ${key}, ${seen}`,
      more: `. ${what} Press to ${isCut ? 'put it back' : 'cut it'}.`, isOn: Boolean(isCut),
      act: () => edit((link?.heads ?? [arrow.head]).map(head => cut(head, target, source))),
    };
  }

  // Layout, likely: as `circuitDrawing` takes them; name(link, key), token(position): what can be pressed; put(from, to);
  // tested, edit: as above.
  function roomOf({ Layout, likely, name, token, put, ...acts }) {
    const drawn = circuitSvg.svg('svg', { role: 'group', fill: 'currentColor' }), room = el('div', 'room', drawn);
    const readout = el('p', 'readout'); // what is pointed at
    const stop = toolbar(room), tell = listen(room, readout, put);
    let circuit;
    // The arrow to the answer does what its name does.
    const arrow = (link, one) =>
      (one.target === null ? name(link, `answer ${one.source}`) : arrowPress(circuit, link, one, acts));

    function paint() {
      const width = room.clientWidth;
      if (!circuit || !width) return;
      const layout = new Layout(circuit, width < NARROW ? 'tall' : 'wide');
      circuitDrawing.draw(drawn, layout, { arrow, name, token }, likely);
      room.ariaLabel = circuit.text;
      stop();
    }

    new ResizeObserver(paint).observe(room);
    return {
      node: el('div', 'stage', el('figure', '', { className: 'circuit' }, room)), readout, paint,
      // shown: a circuit, and its `text`; hint: what the readout says where nothing is pointed at; isNew: whether the
      // drawing is of something else.
      show(shown, hint, isNew) {
        circuit = shown;
        paint();
        tell(hint, isNew);
      },
    };
  }

  return { roomOf };
})();
