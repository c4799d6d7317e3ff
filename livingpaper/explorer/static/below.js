// What stands below the stage: the prompts, the networks beside each other, panels, and what a reader takes along.
// Defines `circuitBelow`.
// It works with a desk: { lab, change(changes, field), edit(texts), want(run), need(who, kind), undo(), restart(), canUndo(),
// now() -> { state, readings } }.
globalThis.circuitBelow = (() => {
  'use strict';
  const { el, say, enable, button, fill } = pageParts('explorer');

  class Below {
    #desk;
    #data;
    #opening;
    #second; // the line of the second prompt
    #needed = {}; // kinds of edit that are being composed, by who composes
    #others;
    #isClosed = false;
    #painters = []; // each part paints itself
    #inputs = {};
    #problems = {};
    asked; // the prompts
    told; // what tells the answer

    // stills: pictures of the networks beside each other, at the state `opening`; isLinked: whether states have addresses.
    constructor(desk, data, { stills, opening, isLinked }) {
      [this.#desk, this.#data, this.#opening] = [desk, data, opening];
      this.#second = this.#line('Second prompt', 'source');
      this.asked = el('div', 'part', this.#line('Prompt', 'prompt', this.#examples()), this.#second);
      this.#others = new circuitOthers.Others(desk, this.#scene, opening, stills);
      this.told = el('div', 'part', this.#tools(isLinked), this.#others.node,
        this.#panel('Every number: all answers, the attention of every head, what each part adds', 'results'),
        this.#panel('More edits: at one position, from other prompts, to any activation', 'composer'),
        this.#panel('Every set of heads switched off', 'sweep'),
        this.#panel('Scores through training', 'curves'));
    }

    show(isClosed) {
      this.told.hidden = this.#isClosed = isClosed;
      this.#paintSecond();
      if (!isClosed) this.#others.show(this.#state);
      for (const paint of this.#painters) paint();
    }

    get #state() { return this.#desk.now().state; }

    // What the networks beside each other are asked.
    get #scene() {
      const { lab } = this.#desk, circuit = (at, { prompt }) => {
        const reading = lab.read(at, { prompt, edits: [], source: '', resample: 0 });
        return circuitMoves.circuitOn(this.#data, lab.testsAt(at.run, at.step), reading, token => lab.word(token));
      };
      return { name: 'prompt', of: state => state.prompt, circuit };
    }

    // What is wrong with a field stands beside it; what was typed stays.
    complain(text, field, typed) {
      for (const [name, node] of Object.entries(this.#problems)) say(node, name === field ? text : '');
      if (field) this.#inputs[field].value = typed;
    }

    // Who composes an edit that takes from the second prompt needs its line.
    need(who, kind) {
      this.#needed[who] = kind;
      this.#paintSecond();
    }

    #paintSecond() {
      const { edits, source } = this.#state, isNeeded = Object.values(this.#needed).includes('patch');
      this.#second.hidden = !(isNeeded || source || edits.some(text => text.startsWith('patch')));
    }

    // A field for a prompt, what is wrong with it, and a button to fill it; `more` stands beside the button.
    #line(label, field, ...more) {
      const act = () => this.#desk.change({ [field]: input.value }, field);
      const input = this.#inputs[field] = el('input', 'prompt', {
        type: 'text', spellcheck: false, autocomplete: 'off', onchange: act,
      });
      const problem = this.#problems[field] = el('p', 'problem', { role: 'alert' });
      const shuffle = button('button', () => {
        input.value = circuitShuffle.shuffled(this.#desk.lab.task, this.#desk.now().readings[0].asked.form);
        act();
      }, 'Shuffle');
      shuffle.ariaLabel = `Shuffle: ${label.toLowerCase()}`;
      this.#painters.push(() => { if (input.value !== this.#state[field]) input.value = this.#state[field]; });
      return el('div', 'ask', el('div', 'line', el('label', 'field', label, input), shuffle, ...more), problem);
    }

    #examples() {
      const { lab: { task: { examples } }, change } = this.#desk;
      const menu = el('select', '', {
        ariaLabel: 'Examples of prompts', onchange: () => change({ prompt: menu.value }, 'prompt'),
      });
      fill(menu, [['', 'Examples'], ...examples.map(({ label, prompt }) => [prompt, label])]);
      this.#painters.push(() => {
        const { prompt } = this.#state;
        menu.value = examples.some(example => example.prompt === prompt) ? prompt : '';
      });
      return menu;
    }

    #compare() {
      const { lab, change } = this.#desk;
      const compare = button('button', () => {
        const { other, run } = this.#state;
        change({ other: other ? null : { run, step: lab.run(run).steps[0] } });
      });
      this.#painters.push(() => say(compare, this.#state.other ? 'Stop comparing' : 'Compare with another'));
      return compare;
    }

    #tools(isLinked) {
      const text = el('textarea', 'taken', {
        readOnly: true, hidden: true, rows: 7, spellcheck: false, ariaLabel: 'Copied text',
      });
      const told = el('span', 'quiet', { role: 'status' }), desk = this.#desk, { name } = this.#data;
      const link = () => location.href.split('#')[0] + circuitTakeOut.address(name, this.#state, this.#opening);
      const take = kind => () =>
        circuitTakeAlong.take(kind, { ...desk.now(), lab: desk.lab, name, link: link(), text, told });
      const undo = button('button', desk.undo, 'Undo');
      this.#painters.push(() => enable(undo, desk.canUndo()));
      return el('div', 'part end', el('div', 'row', undo, this.#compare(),
        button('button', take('link'), 'Copy link', { hidden: !isLinked }),
        button('button', take('snippet'), 'Copy as Python'),
        button('button', take('table'), 'Download CSV'),
        button('button', desk.restart, 'Start again'), told), text);
    }

    // name: of circuitPanels, which fills the body and gives what paints it.
    #panel(title, name) {
      const body = el('div', 'part');
      let paint = null;
      const show = () => {
        if (!node.open || this.#isClosed) return;
        paint ??= circuitPanels[name](this.#desk, body);
        paint();
      };
      const node = el('details', 'panel', { ontoggle: show }, el('summary', '', title), body);
      this.#painters.push(show);
      return node;
    }
  }

  return { Below };
})();
