// The stage: a network's circuit on the prompt, drawn as it is at the shown step, to be taken apart where it stands.
// Defines `circuitStage`.
globalThis.circuitStage = (() => {
  'use strict';
  const { el } = pageParts('explorer'), { likeliest } = circuitBars, { sure } = circuitDrawing;
  const MOST_ANSWERS = 3;
  const HINT = 'Width: attention. Grey: attention that no test speaks of. Point at an arrow to read it, press it to cut it.';
  const likely = p => (p > 0.99 ? '> 99 %' : p < 0.01 ? '< 1 %' : `${Math.round(100 * p)} %`);
  const percent = share => (share > 0 && share < 1 ? likely(share) : `${100 * share} %`); // of prompts

  // What the address of several heads means, where one stands in the drawing.
  function together({ links }) {
    const several = [...new Set(links.map(({ head }) => head))].filter(head => head.endsWith('*'));
    return several.sort().map(head => `${head}: the heads of layer ${head.slice(1, -2)}, tested together.`);
  }

  const tested = ({ found, effect, isSupported }) =>
    `On this network: ${found.replace('{effect}', percent(effect))}, ${isSupported ? '' : 'not '}supported.`;

  class Stage {
    #lab;
    #act;
    #exhibit;
    #shown; // what it was last asked to show
    #answers = el('tbody');
    // Of circuitSwitches, when they have come: from then on what the drawing shows can be taken away.
    switches = null;
    room; // of circuitRoom
    beside; // the answers, and a switch for every part

    // act: { edit(texts), ask(form, words), ready() } -> a promise of the switches
    constructor(lab, exhibit, act) {
      [this.#lab, this.#exhibit, this.#act] = [lab, exhibit, act];
      const { edit } = act, { Layout } = circuitLayout;
      this.room = circuitRoom.roomOf({
        Layout, likely, tested, edit, name: this.#pressName, token: this.#pressToken, put: this.#put,
      });
      this.beside = el('div', 'beside', el('table', 'next', el('caption', '', 'What comes next?'), this.#answers));
    }

    // reading: of lab.read; run: whose it is; tests: of it at this step; light: of the path. Gives what is seen, in words.
    show(reading, run, tests, { edits }, light) {
      const isOther = this.#shown?.run !== run;
      this.#shown = { reading, run };
      const circuit = circuitMoves.circuitOn(this.#exhibit, tests, reading, token => this.#lab.word(token));
      const { asked: { form: { lookup }, words } } = reading, { links, answer } = circuit;
      light(links);
      this.#lab.edits?.mark(circuit, edits);
      const how = lookup ? `Asked for ${words[lookup[0]]}` : `After ${words.at(-1)}`;
      circuit.text = circuitShell.seen(links, how, edits, `${answer.word}, ${sure(answer, likely)}`);
      this.room.show(circuit, [HINT, ...together(circuit), run.note].join(' ').trim(), isOther);
      const p = reading.now.probabilities;
      this.#answers.replaceChildren(
        ...likeliest(this.#lab, reading, MOST_ANSWERS, edits.length > 0, token => [likely(p[token])]));
      this.switches?.show(reading.model.config, links, edits);
      return circuit.text;
    }

    // ---- what can be pressed ----

    #pressName = (link, key = `name ${link.number}`) => {
      const { number, move, head, isRemoved } = link;
      return {
        key, label: `${number}, ${move.name}: ${head}`, isOn: Boolean(isRemoved),
        more: ` ${move.does}. ${tested(link)} Press to ${isRemoved ? 'put it back' : 'take it away'}.`,
        act: async () => (await this.#act.ready(), this.switches.remove(link.heads)),
      };
    };

    // Pressing a key asks for it; any word can be dragged onto another.
    #pressToken = position => {
      const { asked: { form, words } } = this.#shown.reading, [query, pairs] = form.lookup ?? [null, []];
      if (!pairs.some(([key]) => key === position) || words[position] === words[query]) return null;
      return {
        key: `token ${position}`, label: `Ask for ${words[position]}`, more: ': press it.',
        act: () => this.#put(position, query),
      };
    };

    #put = (from, to) => {
      const { form, words: before } = this.#shown.reading.asked, words = [...before];
      words[to] = words[from];
      this.#act.ask(form, words);
    };
  }

  return { Stage };
})();
