// What takes parts of a network away: a switch for each, and what they are replaced by. Defines `circuitSwitches`.
globalThis.circuitSwitches = (() => {
  'use strict';
  const { el, button, fill, toolbar } = pageParts('explorer'), { headsOf } = circuitLab, { partOff } = circuitMarks;
  const HOW = { zero: 'zero', mean: 'its mean', resample: 'a reference prompt', patch: 'the second prompt' };

  // Heads and MLPs of a network, as edits name them.
  const partsOf = config => headsOf(config).flatMap(({ name, layer, head }) =>
    (head === config.n_heads - 1 && config.mlp !== 'none' ? [name, `L${layer}MLP`] : [name]));

  function removal(part, how) {
    if (how !== 'patch') return `${how}(${part})@all`;
    return part.endsWith('MLP') ? `patch(${part.replace('MLP', '')}.mlp_out<-source)@all` : `patch(${part}.z<-source)@all`;
  }

  class Switches {
    #act;
    #edits = [];
    #how = el('select', '', { onchange: () => this.#act.need(this.#how.value) });
    #row = el('div', 'row switches', { ariaLabel: 'Take parts away' });
    #stop = toolbar(this.#row);
    node = el('div', 'parts', el('label', 'field', 'Press to replace by ', this.#how), this.#row);

    // act: { edit(texts), need(kind) }
    constructor(act) {
      this.#act = act;
      fill(this.#how, Object.entries(HOW));
    }

    // Takes parts away; those that are, back.
    remove(parts) {
      const gone = this.#edits.filter(text => parts.includes(partOff(text))), off = gone.map(partOff);
      const rest = parts.filter(part => !off.includes(part));
      this.#act.edit(rest.length ? rest.map(part => removal(part, this.#how.value)) : gone);
    }

    show(config, links, edits) {
      this.#edits = edits;
      const off = new Set(edits.map(partOff)), parts = partsOf(config);
      const focused = [...this.#row.children].indexOf(document.activeElement);
      this.#row.replaceChildren(...parts.map(part => {
        const roles = links.filter(({ heads, isSupported }) => isSupported && heads.includes(part));
        const marks = roles.map(({ number, move }) => {
          const mark = el('span', 'role', `${number} ${move.name} `);
          mark.classList.add(`move-${number}`);
          return mark;
        });
        const node = button('switch', () => this.remove([part]), ...marks, `${part} ${off.has(part) ? 'off' : 'on'}`);
        node.value = part;
        node.ariaPressed = off.has(part);
        return node;
      }));
      this.#stop();
      if (focused >= 0) this.#row.children[Math.min(focused, parts.length - 1)].focus();
    }
  }

  return { Switches, partsOf };
})();
