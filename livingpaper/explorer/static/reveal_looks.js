// What a network reads, and where each of its heads looks from the last position. Defines `circuitRevealLooks`.
globalThis.circuitRevealLooks = (() => {
  'use strict';
  const { share } = circuitRevealRules, { el, say, button, toolbar } = pageParts('explorer'), { headsOf } = circuitLab;
  const { zero, cut } = editText;
  const HINT = 'The height of a bar is the attention the last position pays. Press a bar to cut that edge.';
  const CLOSED = 'Where the network looks is shown once you have guessed.';

  class Looks {
    #cut;
    #size;
    #tokens = el('ol', 'tokens', { ariaLabel: 'What the network reads' });
    #rows = el('div', 'looks');
    #readout = el('p', 'readout');
    #heads = ''; // whose rows there are
    #lines = [];
    node = el('div', 'part revealing', { role: 'group', ariaLabel: 'What the network reads, and where it looks' },
      el('div', 'look-line', el('span', 'quiet', 'reads'), this.#tokens), this.#readout);

    // cut(head, query, key) is called when the reader presses a bar.
    constructor(size, cut) {
      [this.#size, this.#cut] = [size, cut];
      this.#tokens.append(...this.#every(() => el('li', 'token')));
      this.node.style.setProperty('--positions', 2 * size - 1);
    }

    #every(make) { return Array.from({ length: 2 * this.#size - 1 }, (_, at) => make(at)); }

    // told: every token in words; state and reading: of the desk, null before there is an answer.
    show(told, shown) {
      const last = told.length - 1;
      [...this.#tokens.children].forEach((token, at) => {
        token.hidden = at > last;
        token.classList.toggle('is-last', at === last);
        say(token, told[at] ?? '');
      });
      say(this.#readout, shown ? HINT : CLOSED);
      if (!shown) {
        this.#rows.remove();
        return;
      }
      if (!this.#rows.parentNode) this.#readout.before(this.#rows); // what is moved loses the focus
      const { state: { edits }, readings: [{ model: { config }, now: { result } }] } = shown;
      this.#make(headsOf(config));
      for (const { name, layer, head, line, cells, stop } of this.#lines) {
        const size = told.length ** 2, from = (head + 1) * size - last - 1, isOff = edits.includes(zero(name));
        line.classList.toggle('is-off', isOff);
        cells.forEach(({ cell, fill }, at) => {
          cell.hidden = at > last;
          if (at > last) return;
          const attention = result.cache[`pattern.${layer}`][from + at], isCut = edits.includes(cut(name, last, at));
          fill.style.height = `${100 * attention}%`;
          cell.ariaPressed = isCut;
          cell.value = last;
          cell.ariaLabel = `${name} to ${told[at]}: ${isCut ? 'cut' : `attention ${share(attention)}`}${isOff ? ', head off' : ''}`;
          if (cell.matches(':hover, :focus')) say(this.#readout, cell.ariaLabel);
        });
        stop();
      }
    }

    #make(heads) {
      const names = heads.map(({ name }) => name).join(' ');
      if (names === this.#heads) return;
      this.#heads = names;
      this.#lines = heads.map(head => {
        const group = el('div', 'cells', { ariaLabel: `Edges of ${head.name}` }), stop = toolbar(group);
        const cells = this.#every(at => {
          const fill = el('i', 'fill'), cell = button('cell', () => this.#cut(head.name, Number(cell.value), at), fill);
          cell.onmouseenter = cell.onfocus = () => say(this.#readout, cell.ariaLabel);
          cell.onmouseleave = cell.onblur = () => say(this.#readout, HINT);
          return { cell, fill };
        });
        group.append(...cells.map(({ cell }) => cell));
        return { ...head, stop, cells, line: el('div', 'look-line', el('span', 'quiet', head.name), group) };
      });
      this.#rows.replaceChildren(...this.#lines.map(({ line }) => line));
    }
  }

  return { Looks };
})();
