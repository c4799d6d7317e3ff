// The network's inside in the game: what it reads, where its last position looks, and switches to take it apart.
// Defines `recallInside`.
globalThis.recallInside = (() => {
  'use strict';
  const { share } = recallRules, { el, say, enable, button, toolbar } = pageParts('recall-game');
  const HINT = 'The height of a bar is the attention the last position pays. Press a bar to cut that edge.';
  const CLOSED = 'Where the network looks is shown once you have guessed.';

  // What the reader has changed. Cuts are edges from the last position: "layer,head,key".
  class Edits {
    constructor() { this.clear(); }
    clear() { ['heads', 'mlps', 'cuts'].forEach(kind => { this[kind] = new Set(); }); }
    get any() { return this.heads.size + this.mlps.size + this.cuts.size > 0; }

    flip(kind, key) {
      if (!this[kind].delete(key)) this[kind].add(key);
    }

    // As the forward pass takes them.
    lists(last) {
      const read = kind => [...this[kind]].map(key => String(key).split(',').map(Number));
      const zero = site => ([layer, head = null]) => ({ site, layer, head, positions: null, value: 0 });
      const cuts = read('cuts').map(([layer, head, key]) => [layer, head, last, key]);
      return { cuts, puts: [...read('heads').map(zero('z')), ...read('mlps').map(zero('mlp_out'))] };
    }
  }

  // `act` has `flip(kind, key)`, `cut(layer, head, key)` and `undo()` for what is pressed.
  class Inside {
    constructor(size, edits, act) {
      Object.assign(this, { size, edits, act, strip: el('div', 'strip'), readout: el('p', 'readout') });
      this.strip.style.setProperty('--positions', 2 * size - 1);
      this.undo = button('button', act.undo, 'Undo all edits');
      const title = el('p', 'step', 'Inside the network, at its last position');
      this.part = el('div', 'part', { role: 'group', ariaLabel: 'Change the network' },
        title, this.strip, this.readout, el('div', 'row', this.undo));
    }

    // A row of positions, and one row for every head and MLP of the chosen network.
    fill({ n_layers: layers, n_heads: heads, mlp }) {
      this.tokenOf = Array.from({ length: 2 * this.size - 1 }, () => el('li', 'token'));
      const tokens = el('ol', 'tokens', { ariaLabel: 'What the network reads' }, ...this.tokenOf);
      Object.assign(this, { headRows: [], switches: [], parts: el('div', 'strip') });
      this.strip.replaceChildren(el('div', 'line', el('span', 'side', 'reads'), tokens));
      for (let layer = 0; layer < layers; layer++) {
        for (let head = 0; head < heads; head++) this.headRow(layer, head);
        if (mlp !== 'none') this.line('mlps', layer, layers > 1 ? `L${layer} MLP` : 'MLP');
      }
    }

    line(kind, key, words, ...more) {
      const state = el('span'), node = button('switch', () => this.act.flip(kind, key), el('span', '', words), state);
      Object.assign(node, { role: 'switch', ariaLabel: words });
      const line = el('div', 'line', node, ...more);
      this.switches.push({ node, state, line, isOn: () => !this.edits[kind].has(key) });
      this.parts.append(line);
    }

    headRow(layer, head) {
      const name = `L${layer}H${head}`, group = el('div', 'cells', { ariaLabel: `Edges of ${name}` });
      const stop = toolbar(group), cells = this.tokenOf.map((_, key) => {
        const fill = el('i', 'fill'), cell = button('cell', () => this.act.cut(layer, head, key), fill);
        cell.onmouseenter = cell.onfocus = () => say(this.readout, cell.ariaLabel);
        cell.onmouseleave = cell.onblur = () => say(this.readout, HINT);
        group.append(cell);
        return { cell, fill };
      });
      this.headRows.push({ layer, head, name, stop, cells });
      this.line('heads', `${layer},${head}`, name, group);
    }

    paint(tokens, cache, isSeen) {
      const last = tokens.length - 1, told = tokens.map((value, at) => `${at % 2 ? 'y' : 'x'} = ${value}`);
      this.tokenOf.forEach((token, at) => {
        token.hidden = at > last;
        token.classList.toggle('is-last', at === last);
        say(token, told[at] ?? '');
      });
      if (!isSeen) this.parts.remove();
      else if (!this.parts.isConnected) this.strip.append(this.parts);
      say(this.readout, isSeen ? HINT : CLOSED);
      for (const { node, state, isOn, line } of this.switches) {
        line.classList.toggle('is-off', !isOn());
        node.ariaChecked = isOn();
        say(state, isOn() ? 'on' : 'off');
      }
      for (const row of this.headRows) {
        const size = tokens.length ** 2, from = (row.head + 1) * size - last - 1, of = cache[`pattern.${row.layer}`];
        row.cells.forEach((parts, at) => {
          parts.cell.hidden = at > last;
          if (at <= last) this.paintCell(parts, row, at, of[from + at], told[at]);
        });
        row.stop();
      }
      enable(this.undo, this.edits.any);
    }

    paintCell({ cell, fill }, { layer, head, name }, at, attention, told) {
      const { cuts, heads } = this.edits, isCut = cuts.has(`${layer},${head},${at}`);
      const off = heads.has(`${layer},${head}`) ? ', head off' : '';
      fill.style.height = `${100 * attention}%`;
      cell.ariaPressed = isCut;
      cell.ariaLabel = `${name} to ${told}: ${isCut ? 'cut' : `attention ${share(attention)}`}${off}`;
      if (cell.matches(':hover, :focus')) say(this.readout, cell.ariaLabel);
    }
  }

  return { Edits, Inside };
})();
