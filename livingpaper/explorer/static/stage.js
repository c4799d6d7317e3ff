// The stage: a network's circuit on the prompt, drawn as it is at the shown step, to be taken apart where it stands.
// Defines `circuitStage`.
globalThis.circuitStage = (() => {
  'use strict';
  const { el, say, button, fill, toolbar } = pageParts('explorer'), { svg } = circuitSvg, { partsOf } = circuitLab;
  const { Layout } = circuitLayout, { draw, listen } = circuitDrawing, { likeliest } = circuitBars;
  const MOST_ANSWERS = 3, NARROW = 544; // pixels, 34 rem: below it words stand in a column
  const HOW = { zero: 'zero', mean: 'its mean', resample: 'a reference prompt', patch: 'the second prompt' };
  const HINT = 'Width: attention. Grey: attention that no test speaks of. Point at an arrow to read what it is, press it to '
    + 'cut it.';
  const likely = p => (p > 0.99 ? '> 99 %' : p < 0.01 ? '< 1 %' : `${Math.round(100 * p)} %`);
  const percent = share => (share > 0 && share < 1 ? likely(share) : `${100 * share} %`); // of prompts

  function removal(part, how) {
    if (how !== 'patch') return `${how}(${part})@all`;
    return part.endsWith('MLP') ? `patch(${part.replace('MLP', '')}.mlp_out<-source)@all` : `patch(${part}.z<-source)@all`;
  }

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
    #switches = el('div', 'row switches', { ariaLabel: 'Take parts away' });
    #switchStop = toolbar(this.#switches);
    #how = el('select', '', { onchange: () => this.#act.need(this.#how.value) });
    // The part that an edit takes away as a whole, or nothing.
    #partOff = text => {
      const { layer, head, site, positions } = this.#lab.edits.parse(text), isMlp = head === null;
      return positions === 'all' && site === (isMlp ? 'mlp_out' : 'z') ? `L${layer}${isMlp ? 'MLP' : `H${head}`}` : null;
    };
    #hint; // what the readout says while nothing is pointed at
    #pointed = null; // the key of what it tells
    node; // the drawing
    beside; // the answers, and a switch for every part

    // act: { edit(texts), ask(prompt), need(kind) }
    constructor(lab, exhibit, act) {
      [this.#lab, this.#exhibit, this.#act] = [lab, exhibit, act];
      fill(this.#how, Object.entries(HOW));
      const figure = el('figure', '', this.#room);
      figure.classList.add('circuit');
      const caption = el('caption', '', 'What comes next?');
      this.node = el('div', 'stage', figure);
      this.beside = el('div', 'beside', el('table', 'next', caption, this.#answers),
        el('div', 'parts', el('label', 'field', 'Press to replace by ', this.#how), this.#switches));
      new ResizeObserver(() => this.#draw()).observe(this.#room);
      listen(this.#room, (text, key) => { this.#pointed = key; say(this.readout, text); }, (from, to) => this.#put(from, to));
    }

    // reading: of lab.read; run: whose it is; tests: of it at this step; lit: names of moves that are spoken of.
    show(reading, run, tests, state, lit) {
      const isOther = this.#shown?.run !== run;
      this.#shown = { reading, run, edits: new Set(state.edits), lit };
      this.#circuit = circuitMoves.circuitOn(this.#exhibit, tests, reading, token => this.#lab.word(token));
      this.#hint = [HINT, ...this.#together(), run.note].join(' ').trim();
      if (isOther) this.#pointed = null;
      this.#mark();
      this.#draw();
      if (isOther || this.#pointed) say(this.readout, this.#said() ?? this.#hint);
      this.#showAnswers(state.edits.length > 0);
      this.#showSwitches();
    }

    // What the address of several heads means, where one stands in the drawing.
    #together() {
      const several = new Set(this.#circuit.links.map(({ head }) => head).filter(head => head.endsWith('*')));
      return [...several].sort().map(head => `${head}: the heads of layer ${head.slice(1, -2)}, tested together.`);
    }

    // What is removed, cut or spoken of. An arrow that is cut stays, to be put back.
    #mark() {
      const { edits, lit, reading } = this.#shown, off = new Set([...edits].map(this.#partOff)), { links, looks } = this.#circuit;
      for (const link of links) {
        link.isLit = lit.includes(link.move.name);
        link.isRemoved = link.heads.every(head => off.has(head));
        for (const arrow of link.arrows) {
          arrow.isCut = arrow.target !== null && link.heads.every(head => edits.has(cutOf(head, arrow)));
        }
      }
      const known = new Set(links.flatMap(({ heads, arrows }) => arrows.flatMap(arrow => heads.map(head => cutOf(head, arrow)))));
      for (const text of edits) {
        const { kind, layer, head, query, key } = this.#lab.edits.parse(text);
        const isHere = kind === 'cut' && layer < this.#circuit.layers && Number(query) < reading.asked.words.length;
        if (!isHere || known.has(text)) continue;
        looks.push({
          layer, source: Number(key), target: Number(query), weight: 0, brings: '', head: `L${layer}H${head}`, isCut: true,
        });
      }
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

    // What it tells, as it is now: undone, say, or gone.
    #said() {
      return [...this.#room.querySelectorAll('[data-key]')].find(node => node.dataset.key === this.#pointed)?.says;
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
        key, label: `${number}, ${move.name}, ${head}`, isOn: isRemoved,
        says: `${number}, ${move.name}: ${head} ${move.does}. On this network: ${this.#tested(link)}. `
          + `Press to ${isRemoved ? 'put it back' : 'take it away'}.`,
        act: () => this.#remove(link.heads),
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
      this.#act.ask(circuitPrompt.settled(form, words).join(' '));
    }

    #remove(parts) {
      const gone = [...this.#shown.edits].filter(text => parts.includes(this.#partOff(text))), off = gone.map(this.#partOff);
      const rest = parts.filter(part => !off.includes(part));
      this.#act.edit(rest.length ? rest.map(part => removal(part, this.#how.value)) : gone);
    }

    // ---- beside the drawing ----

    #showAnswers(isEdited) {
      const { reading } = this.#shown, p = reading.now.probabilities;
      this.#answers.replaceChildren(
        ...likeliest(this.#lab, reading, MOST_ANSWERS, isEdited, token => [likely(p[token])]));
    }

    #showSwitches() {
      const { reading: { model: { config } }, edits } = this.#shown, off = new Set([...edits].map(this.#partOff));
      const parts = partsOf(config);
      const focused = [...this.#switches.children].indexOf(document.activeElement);
      this.#switches.replaceChildren(...parts.map(part => {
        const roles = this.#circuit.links.filter(({ heads, isSupported }) => isSupported && heads.includes(part));
        const marks = roles.map(({ number, move }) => {
          const mark = el('span', 'role', `${number} ${move.name} `);
          mark.classList.add(`move-${number}`);
          return mark;
        });
        const node = button('switch', () => this.#remove([part]), ...marks, `${part} ${off.has(part) ? 'off' : 'on'}`);
        node.value = part;
        node.ariaPressed = off.has(part);
        return node;
      }));
      this.#switchStop();
      if (focused >= 0) this.#switches.children[Math.min(focused, parts.length - 1)].focus();
    }
  }

  return { Stage, likely };
})();
