// The stage of vector rows: a network's links on one row, hop by hop, to be drawn anew, changed and taken apart. A module
// like that of the explorer: its model holds `exhibit`, the fields of the state, and answers { want: run } with weights.
// Defines `hopsStage`, which hops_widget.py makes the default export.
globalThis.hopsStage = (() => {
  'use strict';
  const { el, same, say, enable, button, toolbar } = pageParts('explorer');
  const { wanting, fieldsOf, pathOf, seen, onUndo, opened, sentence } = circuitShell;
  const { cell, bar } = circuitBars, { table, named } = circuitTables, { zero, toggled } = editText;
  const FIELDS = ['run', 'step', 'draw', 'row', 'follow', 'edits'], MOST_UNDONE = 100, MOST_DRAWS = 1e6;
  const HINT = 'Width: attention on this row. Solid: a test of this network at this step supports the link. Grey: attention '
    + 'that no test speaks of. Press a query to follow it; drag a symbol onto another to put it there; press an arrow to cut it.';
  const number = value => value.toFixed(2).replace(/^-(0\.00)$/, '$1'), errorOf = value => (value === null ? 'nothing is wanted' : `error ${number(value)}`);
  const inWords = role => role.replaceAll('_', ' ').replace('queries', 'query');

  function tested({ link, rise, other, isSupported }) {
    const [query, key] = link.map(inWords);
    return `Without ${query} to ${key}, in all chains, the squared error rises by ${number(rise)}; by ${number(other)} `
      + `without as many looks at another chain. ${isSupported ? 'Supported' : 'Not supported'}.`;
  }

  class View {
    #box;
    #data;
    #lab;
    #rows;
    #state; // what is shown
    #found; // what was computed of it
    #before = []; // states to go back to
    #turn = 0;
    #path;
    #want;
    #fields;
    #place;
    #others;
    #hinted = null; // the run whose hint stands below the stage
    #room;
    #problem = el('p', 'problem', { role: 'alert' });
    #answers = el('div');
    #switches = el('div', 'row switches', { ariaLabel: 'Switch heads off' });
    #switchStop = toolbar(this.#switches);
    #row = el('input', 'prompt', {
      type: 'text', spellcheck: false, autocomplete: 'off', onchange: () => this.#change({ row: this.#row.value }),
    });
    #draw = el('input', 'count', {
      type: 'number', min: 0, max: MOST_DRAWS, step: 1, onchange: () => this.#redraw(Number(this.#draw.value)),
    });
    #undo = button('button', () => this.#goBack(), 'Undo');

    constructor(model, box, still) {
      [this.#box, this.#data] = [box, model.get('exhibit')];
      const { runs, leftOut, path } = this.#data;
      this.#path = pathOf(path, this.#opening, state => this.#change(state));
      this.#rows = new vectorRows.Rows(this.#data.form);
      this.#lab = new circuitLab.Lab({ task: null, runs, leftOut });
      this.#place = new circuitPlaces.Place(this.#lab, 'Network', at => this.#change(at));
      const { node, readout } = this.#room = circuitRoom.roomOf({
        Layout: hopsCircuit.RowLayout, likely: errorOf, tested, edit: texts => this.#edit(texts),
        name: link => this.#pressName(link), token: at => this.#pressToken(at), put: (from, to) => this.#put(from, to),
      });
      this.live = el('div', 'live', this.#path.node,
        el('div', 'part shown', node, this.#place.node, readout,
          el('div', 'beside', this.#answers, el('div', 'parts', el('span', 'quiet', 'Heads'), this.#switches))),
        el('div', 'ask', el('div', 'line', el('label', 'field', 'Row', this.#row))), this.#problem,
        el('div', 'part end', el('div', 'row', button('button', () => this.#redraw(this.#state.draw + 1), 'Draw another'),
          el('label', 'field', 'Draw', this.#draw), this.#undo, button('button', () => this.#again(), 'Start again'))));
      onUndo(this.live, () => this.#goBack());
      this.#want = wanting(this.#lab, model);
      this.#others = this.#nearby([...still?.querySelectorAll('.circuits svg') ?? []]);
      this.live.append(this.#others.node);
      this.#fields = fieldsOf(model, FIELDS, asked => this.#state && !same(asked, this.#state) && this.#change(asked));
    }

    // The same row in the other networks. `stills`: their pictures at the opening.
    #nearby(stills) {
      const desk = { lab: this.#lab, want: this.#want, change: changes => this.#change(changes) };
      const scene = {
        name: 'row', Layout: hopsCircuit.RowLayout, of: ({ row, draw, follow }) => `${row} ${draw} ${follow}`,
        circuit: (at, state) => this.#circuitOf(this.#read({ ...state, ...at, edits: [] }), state),
      };
      return new circuitOthers.Others(desk, scene, this.#opening, stills);
    }

    get #opening() { return { ...this.#data.opening, ...this.#data.path[0]?.state }; }

    async start() {
      await this.#change(this.#fields.asked());
      if (!this.#state) throw new Error(this.#problem.textContent);
      this.#box.append(this.live);
      this.#room.paint();
    }

    // ---- changes ----

    // What the network of a state makes of its row.
    #read(state) {
      const words = this.#rows.read(state.row), model = this.#lab.model(state), run = this.#lab.run(state.run);
      if (!this.#rows.queries.includes(state.follow)) throw new Error(`position ${state.follow} asks nothing`);
      const pass = edits => circuitEdits.forward(
        model, this.#rows.inputs(words, state.draw), circuitEdits.compile(edits, words.length, {}));
      const answersOf = result => this.#rows.answers(words, state.draw, state.follow, result.logits);
      const result = pass(state.edits), before = state.edits.length ? answersOf(pass([])) : null;
      return { words, model, run, result, answers: answersOf(result), before, tests: run.tests[state.step] ?? [] };
    }

    // Compute the changed state and show it; what cannot be computed is told, and nothing else changes.
    async #change(changes, isUndone = false) {
      const turn = ++this.#turn, next = { ...(this.#state ?? this.#opening), ...changes };
      try {
        this.#lab.run(next.run);
        const coming = this.#want(next.run);
        if (coming) await coming;
        if (turn !== this.#turn) return false;
        next.step = this.#lab.nearest(next.run, next.step);
        next.row = next.row.trim().split(/\s+/).join(' ');
        if (this.#state && next.run !== this.#state.run && !('edits' in changes)) next.edits = [];
        this.#found = this.#read(next);
      } catch (error) {
        if (turn !== this.#turn) return false;
        say(this.#problem, sentence(error.message));
        if (this.#state) this.#paint();
        return false;
      }
      const last = this.#state;
      if (last && !isUndone && !same(last, next)) this.#before = [...this.#before, last].slice(-MOST_UNDONE);
      this.#state = next;
      say(this.#problem, '');
      this.#paint();
      this.#fields.share(next);
      return true;
    }

    #redraw(seed) {
      const isFine = Number.isInteger(seed) && seed >= 0 && seed <= MOST_DRAWS;
      if (isFine) return this.#change({ draw: seed, row: this.#rows.drawn(seed).join(' '), edits: this.#offs });
      say(this.#problem, `A draw is a whole number from 0 to ${MOST_DRAWS}.`);
      return null;
    }

    // Of the edits those of whole heads: an arrow that is cut belongs to a row.
    get #offs() { return this.#state.edits.filter(text => text.startsWith('zero')); }

    #edit(texts) { return this.#change({ edits: toggled(this.#state.edits, texts) }); }

    #put(from, to) {
      const words = [...this.#found.words];
      words[to] = words[from];
      return this.#change({ row: words.join(' ') });
    }

    async #goBack() {
      const before = this.#before.pop();
      if (before) await this.#change(before, true);
    }

    async #again() {
      this.#path.restart();
      await this.#change(this.#opening);
    }

    // ---- what is shown ----

    #paint() {
      const [state, found] = [this.#state, this.#found];
      this.#place.show(state, '');
      this.#row.value = state.row;
      this.#draw.value = state.draw;
      this.#paintAnswers();
      this.#paintSwitches();
      enable(this.#undo, this.#before.length > 0);
      const circuit = this.#circuitOf(found, state), { broken } = circuit;
      this.#path.light(state, circuit.links);
      circuitMarks.mark(circuit, state.edits);
      circuit.text = this.#inWords(circuit, state);
      this.#path.show(state, circuit.text);
      const isOther = this.#hinted !== state.run || Boolean(broken);
      this.#hinted = broken ? null : state.run;
      this.#room.show(circuit, broken || HINT, isOther);
      this.#others.show(state);
    }

    #circuitOf({ words, tests, result, answers, model: { config } }, { follow }) {
      return hopsCircuit.circuitOn({
        rows: this.#rows, moves: this.#data.moves, words, follow, tests, result, config, answers,
      });
    }

    #inWords({ links }, { follow, edits }) {
      const { words, answers } = this.#found, wanted = answers.map(one => one.wanted ?? 'nothing').join(' and ');
      const said = answers.map(({ nearest, error }) => `${nearest} (${errorOf(error)})`).join(' and ');
      // Two links may be one head's same move elsewhere.
      const placed = links.map(({ head, arrows: [{ source, target }], ...link }) =>
        ({ ...link, head: `${head}: ${words[target]} reads ${words[source]}` }));
      return seen(placed, `Asked by ${words[follow]} for ${wanted}`, edits, said);
    }

    #paintAnswers() {
      const { answers, before, words } = this.#found;
      const rows = answers.map(({ place, wanted, nearest, error }, i) => {
        const right = wanted === nearest ? [el('span', 'right', ' right')] : [];
        const mark = before?.[i].error ?? null, share = value => (value === null ? null : Math.min(1, value));
        return el('tr', '', named(String(place)), el('td', '', wanted ?? 'nothing'), el('td', '', nearest, ...right),
          bar(share(error) ?? 0, share(mark)), cell(error === null ? '' : number(error)));
      });
      const caption = `What is said at ${words[this.#state.follow]}; squared error, 1 for saying nothing`;
      this.#answers.replaceChildren(table(caption, ['look-up', 'wanted', 'nearest', 'error', ''], rows));
    }

    #paintSwitches() {
      const { model: { config }, tests } = this.#found, focused = [...this.#switches.children].indexOf(document.activeElement);
      this.#switches.replaceChildren(...circuitLab.headsOf(config).map(({ name }) => {
        const roles = tests.filter(({ heads, isSupported }) => isSupported && heads.includes(name));
        const marks = [...new Set(roles.map(({ move }) => move))].map(move => {
          const mark = el('span', 'role', `${move + 1} `);
          mark.classList.add(`move-${move + 1}`);
          return mark;
        });
        const isOff = this.#state.edits.includes(zero(name));
        const node = button('switch', () => this.#edit([zero(name)]), ...marks, `${name} ${isOff ? 'off' : 'on'}`);
        node.ariaPressed = isOff;
        return node;
      }));
      this.#switchStop();
      if (focused >= 0) this.#switches.children[focused].focus();
    }

    // ---- what can be pressed ----

    #pressName(link) {
      const { number: at, move, head, heads, isRemoved, link: roles } = link;
      return {
        key: `name ${at} ${head} ${roles.join(' ')}`, label: `${at}, ${move.name}: ${head}`, isOn: isRemoved,
        more: ` ${move.does}. ${tested(link)} Press to ${isRemoved ? 'switch it on' : 'switch it off'}.`,
        act: () => this.#edit(heads.map(zero)),
      };
    }

    #pressToken(position) {
      const word = this.#found.words[position], isQuery = this.#rows.queries.includes(position);
      if (!isQuery || position === this.#state.follow) return null;
      return {
        key: `token ${position}`, label: `Follow ${word}`, more: ': press it.',
        act: () => this.#change({ follow: position, edits: this.#offs }),
      };
    }
  }

  return opened((model, box, still) => new View(model, box, still).start());
})();
