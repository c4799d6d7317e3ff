// The stage: a network's circuit on the prompt, drawn as it is at the shown step, to be taken apart where it stands.
// Defines `circuitStage`.
globalThis.circuitStage = (() => {
  'use strict';
  const { el, toolbar } = pageParts('explorer'), { svg } = circuitSvg;
  const { Layout } = circuitLayout, { draw, listen } = circuitDrawing, { likeliest } = circuitBars;
  const MOST_ANSWERS = 3, NARROW = 544; // pixels, 34 rem: below it words stand in a column
  const HINT = 'Width: attention. Grey: attention that no test speaks of. Point at an arrow to read what it is, press it to '
    + 'cut it.';
  const likely = p => (p > 0.99 ? '> 99 %' : p < 0.01 ? '< 1 %' : `${Math.round(100 * p)} %`);
  const percent = share => (share > 0 && share < 1 ? likely(share) : `${100 * share} %`); // of prompts

  const cutOf = (head, { source, target }) => `cut(${head}:${target}->${source})`;

  class Stage {
    #lab;
    #act;
    #exhibit;
    #shown; // what it was last asked to show
    #circuit;
    #drawn = svg('svg', { role: 'group', fill: 'currentColor' });
    #room = el('div', 'room', this.#drawn); // it listens: an SVG that listens to the focus takes it
    #stop = toolbar(this.#room);
    readout = el('p', 'readout', { ariaLive: 'polite' }); // what is pointed at
    #answers = el('tbody');
    #switches = null; // of `circuitSwitches`, when they have come
    #tell;
    node; // the drawing
    beside; // the answers, and a switch for every part

    // act: { edit(texts), ask(form, words), ready() } -> a promise of the switches
    constructor(lab, exhibit, act) {
      [this.#lab, this.#exhibit, this.#act] = [lab, exhibit, act];
      const figure = el('figure', '', this.#room);
      figure.classList.add('circuit');
      const caption = el('caption', '', 'What comes next?');
      this.node = el('div', 'stage', figure);
      this.beside = el('div', 'beside', el('table', 'next', caption, this.#answers));
      new ResizeObserver(() => this.#draw()).observe(this.#room);
      this.#tell = listen(this.#room, this.readout, (from, to) => this.#put(from, to));
    }

    // From now on what the drawing shows can be taken away.
    arm(switches) {
      this.#switches = switches;
      this.beside.append(switches.node);
    }

    // reading: of lab.read; run: whose it is; tests: of it at this step; lit: names of moves that are spoken of.
    show(reading, run, tests, { edits }, lit) {
      const isOther = this.#shown?.run !== run;
      this.#shown = { reading, run };
      const circuit = this.#circuit = circuitMoves.circuitOn(this.#exhibit, tests, reading, token => this.#lab.word(token));
      for (const link of circuit.links) link.isLit = lit.includes(link.move.name);
      this.#lab.edits?.mark(circuit, edits);
      this.#draw();
      this.#tell([HINT, ...this.#together(), run.note].join(' ').trim(), isOther);
      this.#showAnswers(edits.length > 0);
      this.#switches?.show(reading.model.config, circuit.links, edits);
    }

    // What the address of several heads means, where one stands in the drawing.
    #together() {
      const several = new Set(this.#circuit.links.map(({ head }) => head).filter(head => head.endsWith('*')));
      return [...several].sort().map(head => `${head}: the heads of layer ${head.slice(1, -2)}, tested together.`);
    }

    #draw() {
      const width = this.#room.clientWidth;
      if (!this.#circuit || !width) return;
      const press = {
        arrow: (link, arrow) => this.#pressArrow(link, arrow), token: at => this.#pressToken(at),
        name: link => this.#pressName(link),
      };
      draw(this.#drawn, new Layout(this.#circuit, width < NARROW ? 'tall' : 'wide'), press, likely);
      this.#room.ariaLabel = this.#inWords();
      this.#stop();
    }

    #inWords() {
      const { links, answer: { word, probability } } = this.#circuit;
      const each = links.map(({ number, move, head, isSupported }) =>
        `${number}, ${move.name}, ${head}${isSupported ? '' : ', not supported'}`);
      return `The circuit on this prompt. It answers ${word}, ${likely(probability)}. ${each.join('; ')}`;
    }

    // ---- what can be pressed ----

    #tested({ found, effect, isSupported }) {
      return `${found.replace('{effect}', percent(effect))}, ${isSupported ? '' : 'not '}supported`;
    }

    #pressArrow(link, arrow) {
      const { words } = this.#shown.reading.asked, { source, target, weight, layer } = arrow;
      if (target === null) return this.#pressName(link, `answer ${source}`);
      const who = link ? `${link.number}, ${link.move.name}: ${link.head}` : arrow.head;
      const edge = `${words[target]} reads ${words[source]}`, seen = arrow.isCut ? 'cut' : `attention ${weight.toFixed(2)}`;
      const what = link ? `On this network: ${this.#tested(link)}.` : 'No test speaks of it: attention, no part of a mechanism.';
      return {
        key: `${link?.number ?? 'look'} ${layer} ${source} ${target}`, label: `${who}, ${edge}, ${seen}`,
        says: `${who}: ${edge}, ${seen}. ${what} Press to ${arrow.isCut ? 'put it back' : 'cut it'}.`, isOn: Boolean(arrow.isCut),
        act: () => this.#act.edit((link?.heads ?? [arrow.head]).map(head => cutOf(head, arrow))),
      };
    }

    #pressName(link, key = `name ${link.number}`) {
      const { number, move, head, isRemoved } = link;
      return {
        key, label: `${number}, ${move.name}, ${head}`, isOn: Boolean(isRemoved),
        says: `${number}, ${move.name}: ${head} ${move.does}. On this network: ${this.#tested(link)}. `
          + `Press to ${isRemoved ? 'put it back' : 'take it away'}.`,
        act: async () => (await this.#act.ready(), this.#switches.remove(link.heads)),
      };
    }

    // Pressing a key asks for it; any word can be dragged onto another.
    #pressToken(position) {
      const { asked: { form, words } } = this.#shown.reading, [query, pairs] = form.lookup ?? [null, []];
      if (!pairs.some(([key]) => key === position) || words[position] === words[query]) return null;
      return {
        key: `token ${position}`, label: `Ask for ${words[position]}`, says: `Press to ask for ${words[position]}.`,
        act: () => this.#put(position, query),
      };
    }

    #put(from, to) {
      const { form, words: before } = this.#shown.reading.asked, words = [...before];
      words[to] = words[from];
      this.#act.ask(form, words);
    }

    // ---- beside the drawing ----

    #showAnswers(isEdited) {
      const { reading } = this.#shown, p = reading.now.probabilities;
      this.#answers.replaceChildren(
        ...likeliest(this.#lab, reading, MOST_ANSWERS, isEdited, token => [likely(p[token])]));
    }
  }

  return { Stage, likely };
})();
