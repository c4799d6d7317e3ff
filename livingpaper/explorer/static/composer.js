// What a reader does to the network beyond the stage: a line that composes edits, and the edits in place.
// Defines `circuitComposer`.
globalThis.circuitComposer = (() => {
  'use strict';
  const { el, say, button, fill, toolbar } = pageParts('explorer'), { headsOf } = circuitLab, { partsOf } = circuitSwitches;
  const KINDS = {
    zero: 'set to zero', mean: 'set to its mean', resample: 'take from a reference prompt',
    patch: 'take from the second prompt',
  };
  const STREAM = ['resid_pre', 'resid_mid', 'mlp_post', 'mlp_out', 'resid_post'];

  // What of a network may be taken from the second prompt.
  function sitesOf(config) {
    const stream = STREAM.filter(site => config.mlp !== 'none' || !site.startsWith('mlp'));
    return headsOf(config).flatMap(({ name, layer, head }) => [
      ...(head ? [] : stream.map(site => `L${layer}.${site}`)), ...[...'qkvz'].map(site => `${name}.${site}`),
    ]).map(site => `${site}<-source`);
  }

  class Composer {
    #lab;
    #act;
    #state;
    #asked;
    #part = el('select', '', { ariaLabel: 'Which part' });
    #kind = el('select', '', { ariaLabel: 'What to do', onchange: () => this.#offer() });
    #where = el('select', '', { ariaLabel: 'At which position' });
    #add = button('button', () =>
      this.#act.edit(`${this.#kind.value}(${this.#part.value})@${this.#where.value}`), 'Add edit');
    #number = el('input', 'count', {
      type: 'number', min: 0, step: 1, onchange: () => this.#act.change({ resample: Number(this.#number.value) }),
    });
    #reference = el('span', 'quiet');
    #referenceLine = el('div', 'row', el('label', 'field', 'Reference prompt ', this.#number), this.#reference);
    #chips = el('div', 'row chips', { ariaLabel: 'Edits in place: press to remove' });
    #chipStop = toolbar(this.#chips);
    node = el('div', 'part composer', { role: 'group', ariaLabel: 'Edits' },
      el('div', 'row', this.#part, this.#kind, this.#where, this.#add), this.#referenceLine, this.#chips);

    // edit(text) puts an edit in place or takes it away; change(changes) is of the state; need(kind) tells the choice.
    constructor(lab, act) {
      [this.#lab, this.#act] = [lab, act];
      fill(this.#kind, Object.entries(KINDS));
    }

    show(state, asked) {
      [this.#state, this.#asked] = [state, asked];
      this.#showChips();
      const { task } = this.#lab, rows = circuitPrompt.references(task, asked.ids.length);
      Object.assign(this.#number, { value: state.resample, max: rows.length - 1 });
      say(this.#reference, rows[state.resample]?.map(token => task.vocab[token]).join(' ') ?? '');
      this.#offer();
    }

    #showChips() {
      const { edits } = this.#state, chips = this.#chips, at = [...chips.children].indexOf(document.activeElement);
      chips.replaceChildren(...edits.map(text => button('chip', () => this.#act.edit(text), `${text} \u00d7`)));
      if (edits.length > 1) chips.append(button('chip', () => this.#act.change({ edits: [] }), 'Undo all edits'));
      chips.hidden = !edits.length;
      if (edits.length) this.#chipStop();
      if (at >= 0) (chips.children[Math.min(at, edits.length - 1)] ?? this.#add).focus();
    }

    // What can be chosen, and the lines that the choice or an edit in place needs.
    #offer() {
      const { edits, run } = this.#state, kind = this.#kind.value, { config } = this.#lab.run(run);
      const needs = word => kind === word || edits.some(text => text.startsWith(word));
      const parts = kind === 'patch' ? sitesOf(config) : partsOf(config);
      fill(this.#part, parts.map(part => [part, part.replace('<-source', '')]));
      const places = this.#asked.words.map((word, at) => [String(at), `at ${at}: ${word}`]).reverse();
      fill(this.#where, [['all', 'at all positions'], ...places]);
      this.#act.need(kind);
      this.#referenceLine.hidden = !needs('resample');
    }
  }

  return { Composer };
})();
