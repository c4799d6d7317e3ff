// The explorer: trained networks that a reader can take apart. An anywidget module, in a notebook and in the page.
// The model holds `exhibit` (what there is to see), the fields of the state, and answers { want: run } with its
// weights: later, or at once, before `send` returns. Defines `circuitExplorer`, which widget.py makes the default export.
globalThis.circuitExplorer = (() => {
  'use strict';
  const { el, same, say, enable, button, fill } = pageParts('explorer'), { headsOf, placesOf } = circuitLab;
  const { wanting, fieldsOf, pathOf, onUndo, opened, sentence } = circuitShell;
  const FIELDS = ['run', 'step', 'prompt', 'source', 'edits', 'resample', 'other', 'rule'];
  const PAUSE = 300; // milliseconds until the address follows

  class View {
    #model;
    #box;
    #data;
    #lab;
    #opening;
    #state; // what is shown
    #coming; // what was asked for since, while it is being computed
    #readings; // of the networks that are shown
    #before = []; // states to go back to
    #places;
    #stages;
    #others; // a promise of what stands beside each other, from when a reader first comes near
    #nearby = el('div', 'part');
    #panels; // a promise of what is loaded when a reader first opens a panel
    #form; // of the task, in which a prompt is asked: what tells the answer is closed until it says so
    #isClosed = false;
    #told; // what is closed
    #second; // the line of the second prompt, and the kinds of edit that are being composed
    #needed = {};
    #live;
    #turn = 0;
    #path;
    #want;
    #fields;
    #writing;
    #painters = []; // each part paints itself, when there is something to show
    #inputs = {};
    #problems = { '': el('p', 'problem', { role: 'alert' }) }; // by field; without one, of everything else

    constructor(model, box, still) {
      [this.#model, this.#box, this.#data] = [model, box, model.get('exhibit')];
      const lab = this.#lab = new circuitLab.Lab(this.#data);
      this.#opening = { ...this.#data.opening, ...this.#data.path[0]?.state };
      const change = changes => this.#change(changes), edit = texts => this.#edit(texts);
      this.#path = pathOf(this.#data.path, this.#opening, change, { step: 0 });
      const ask = prompt => this.#change({ prompt }, 'prompt');
      this.#stages = [0, 1].map(i =>
        new circuitStage.Stage(lab, this.#data, { edit, ask, need: kind => this.#need(`stage ${i}`, kind) }));
      new IntersectionObserver((changes, seen) => {
        if (!changes.at(-1).isIntersecting) return;
        seen.disconnect();
        const stills = [...still?.querySelectorAll('.circuits svg') ?? []];
        this.#others = this.#load().then(({ circuitOthers: { Others } }) =>
          new Others(this.#nearby, this.#desk, this.#data, stills, this.#opening));
        this.#showOthers();
      }, { rootMargin: '400px' }).observe(this.#nearby);
      const follow = ({ rule, ...other }) =>
        change(rule === undefined ? { other: { ...this.#base.other, ...other } } : { rule });
      this.#places = [
        new circuitPlaces.Place(lab, 'Network', change), new circuitPlaces.Place(lab, 'Compared with', follow)];
      this.#second = this.#line('Second prompt', 'source');
      const [first, compared] = this.#stages.map(({ node, readout, beside }, i) =>
        el('div', 'part shown', node, this.#places[i].node, readout, beside));
      const asked = el('div', 'part', this.#line('Prompt', 'prompt', this.#examples()), this.#second);
      const below = el('div', 'part', this.#tools(), this.#nearby,
        this.#panel('Every number: all answers, the attention of every head, what each part adds', 'results'),
        this.#panel('More edits: at one position, from other prompts, to any activation', 'composer'),
        this.#panel('Every set of heads switched off', 'sweep'),
        this.#panel('Scores through training', 'curves'));
      this.#told = [...this.#stages.flatMap(({ node, readout, beside }) => [node, readout, beside]), below];
      this.#live = el('div', 'live', this.#path.node, first, compared, asked, this.#problems[''], below);
      onUndo(this.#live, () => this.#undo());
      this.#painters.push(() => this.#path.show(this.#state));
      this.#want = wanting(lab, model);
      this.#fields = fieldsOf(model, FIELDS, asked => this.#follow(asked));
      if (model.get('linked')) addEventListener('hashchange', () => this.#followLink());
    }

    // What a change starts from.
    get #base() { return this.#coming ?? this.#state; }

    async start() {
      const problem = this.#problems[''];
      let linked = null, wrong = '';
      if (this.#data.form) {
        this.#form = new (await this.#load()).circuitReveal.Form(this.#data, this.#desk);
        this.#live.prepend(this.#form.rules, this.#places[0].node, this.#form.node);
      }
      try {
        linked = await this.#linked();
      } catch (error) { wrong = error.message; }
      if (linked && !(await this.#change(linked))) wrong = problem.textContent;
      if (!this.#state && !(await this.#change(this.#fields.asked()))) throw new Error(problem.textContent);
      if (wrong) this.#complain(sentence(`the address could not be followed: ${wrong}`));
      this.#box.append(this.#live);
      if (linked) this.#box.scrollIntoView();
    }

    // ---- the state outside: fields of the model, the address ----

    async #linked() {
      const { hash } = location, { name } = this.#data;
      if (!this.#model.get('linked') || !hash.startsWith(`#${name}?`)) return null;
      return (await this.#load()).circuitTakeOut.fromAddress(hash, name, this.#opening);
    }

    async #address() { return (await this.#load()).circuitTakeOut.address(this.#data.name, this.#state, this.#opening); }

    #follow(asked) { if (this.#state && !same(asked, this.#state)) this.#change(asked); }

    async #followLink() {
      try {
        const asked = await this.#linked();
        if (asked && !same(asked, this.#state)) this.#change(asked);
      } catch (error) { this.#complain(sentence(error.message)); }
    }

    #share() {
      this.#fields.share(this.#state);
      if (!this.#model.get('linked') || !this.#box.contains(this.#live)) return;
      // A browser takes some 40 ms for it, and refuses it to those who ask too often.
      clearTimeout(this.#writing);
      this.#writing = setTimeout(async () => history.replaceState(null, '', await this.#address()), PAUSE);
    }

    // ---- changes ----

    #complain(text, field = '') {
      for (const [name, node] of Object.entries(this.#problems)) say(node, name === field ? text : '');
    }

    // Texts of edits that are all in place are taken away; else those that are not yet are put in place.
    #edit(texts) {
      const { edits } = this.#base, isIn = text => edits.includes(text);
      this.#change({
        edits: texts.every(isIn) ? edits.filter(text => !texts.includes(text))
          : [...edits, ...texts.filter(text => !isIn(text))],
      });
    }

    #undo() {
      const before = this.#before.pop();
      if (before) this.#change(before, '', true);
    }

    // What can be gone back to; a walk through training is one step.
    #remember(state, next) {
      const isWalk = (a, b) => same({ ...a, step: 0, other: null }, { ...b, step: 0, other: null });
      const last = this.#before.at(-1);
      if (last && isWalk(last, state) && isWalk(state, next)) return;
      this.#before.push(state);
    }

    // Compute the changed state and show it; what cannot be computed is told, and nothing else changes.
    async #change(changes, field = '', isUndone = false) {
      const turn = ++this.#turn, lab = this.#lab, before = this.#coming, next = this.#coming = { ...this.#base };
      for (const name of FIELDS) if (name in changes) next[name] = changes[name];
      let told = '';
      try {
        lab.knowRule(next.rule);
        for (const { run } of placesOf(next)) {
          lab.run(run);
          const coming = this.#want(run);
          if (coming) await coming;
        }
        if (!lab.edits && (next.edits.length || field === 'source')) await this.#load();
        if (turn !== this.#turn) return false;
        next.step = lab.nearest(next.run, next.step);
        if (next.other) next.other = { ...next.other, step: lab.nearest(next.other.run, next.other.step) };
        if (this.#state && !('edits' in changes) && !this.#fits(next)) next.edits = [];
        if (field === 'prompt' && next.edits.length) told = lab.edits.dropPatches(next);
        const found = placesOf(next).map(place => lab.read(place, next));
        if (field === 'source' && next.source.trim()) lab.edits.second(next.source, found[0].asked.ids.length);
        this.#readings = found;
      } catch (error) {
        if (turn !== this.#turn) return false;
        this.#coming = null;
        if (before && !(await this.#change(before))) return false; // what was on its way arrives all the same
        if (this.#state) this.#paintPlaces(); // menus go back to what is shown
        if (field) this.#inputs[field].value = changes[field];
        this.#complain(sentence(error.message), field);
        return false;
      }
      if (this.#state && !isUndone && !same(this.#state, next)) this.#remember(this.#state, next);
      [this.#state, this.#coming] = [next, null];
      this.#complain(told);
      this.#paint();
      this.#share();
      return true;
    }

    // Another network may lack the parts that were edited: its edits start anew.
    #fits(next) {
      const heads = ({ run }) => headsOf(this.#lab.run(run).config);
      return placesOf(next).every(place => same(heads(place), heads(this.#state)));
    }

    // ---- parts, made once ----

    #compare() {
      const compare = button('button', () => {
        const { other, run } = this.#base;
        this.#change({ other: other ? null : { run, step: this.#lab.run(run).steps[0] } });
      });
      this.#painters.push(() => say(compare, this.#state.other ? 'Stop comparing' : 'Compare with another'));
      return compare;
    }

    #paintPlaces() {
      const shown = placesOf(this.#state);
      shown.forEach((place, i) => this.#places[i].show(place, this.#state.rule));
      this.#places[1].node.parentElement.hidden = shown.length < 2;
    }

    // A field for a prompt, what is wrong with it, and a button to fill it; `more` stands beside the button.
    #line(label, field, ...more) {
      const act = () => this.#change({ [field]: input.value }, field);
      const input = this.#inputs[field] = el('input', 'prompt', {
        type: 'text', spellcheck: false, autocomplete: 'off', onchange: act,
      });
      const problem = this.#problems[field] = el('p', 'problem', { role: 'alert' });
      const shuffle = button('button', async () => {
        const { circuitShuffle } = await this.#load();
        input.value = circuitShuffle.shuffled(this.#lab.task, this.#readings[0].asked.form);
        act();
      }, 'Shuffle');
      shuffle.ariaLabel = `Shuffle: ${label.toLowerCase()}`;
      this.#painters.push(() => { if (input.value !== this.#state[field]) input.value = this.#state[field]; });
      return el('div', 'ask', el('div', 'line', el('label', 'field', label, input), shuffle, ...more), problem);
    }

    #examples() {
      const { examples } = this.#lab.task, act = () => this.#change({ prompt: menu.value }, 'prompt');
      const menu = el('select', '', { ariaLabel: 'Examples of prompts', onchange: act });
      fill(menu, [['', 'Examples'], ...examples.map(({ label, prompt }) => [prompt, label])]);
      this.#painters.push(() => {
        const { prompt } = this.#state;
        menu.value = examples.some(example => example.prompt === prompt) ? prompt : '';
      });
      return menu;
    }

    // ---- what is loaded when it is first asked for: panels, another prompt, what a reader takes along ----

    // What that works with.
    get #desk() {
      return {
        lab: this.#lab, change: changes => this.#change(changes), edit: texts => this.#edit(texts),
        repaint: () => this.#paint(), want: this.#want, need: kind => this.#need('composer', kind),
        now: () => ({ state: this.#state, readings: this.#readings }),
      };
    }

    #load() {
      this.#panels ??= (async () => {
        const url = URL.createObjectURL(new Blob([this.#model.get('panels')], { type: 'text/javascript' }));
        try {
          const parts = (await import(url)).default({
            pageParts, circuitSvg, circuitDecoder, circuitLab, circuitPrompt, circuitBars, circuitStrip, circuitMoves,
            circuitLayout, circuitDrawing,
          });
          this.#lab.edits = parts.circuitEdited.editedIn(this.#lab);
          return parts;
        } finally { URL.revokeObjectURL(url); }
      })();
      return this.#panels;
    }

    async #showOthers() {
      (await this.#others)?.show(this.#state);
    }

    // name: of circuitPanels, which fills the body and gives what paints it.
    #panel(title, name) {
      const body = el('div', 'part');
      let paint = null, isComing = false;
      const show = async () => {
        if (!node.open || !this.#state || isComing || this.#isClosed) return;
        if (!paint) {
          isComing = true;
          paint = (await this.#load()).circuitPanels[name](this.#desk, body);
          isComing = false;
        }
        paint();
      };
      const node = el('details', 'panel', { ontoggle: show }, el('summary', '', title), body);
      this.#painters.push(show);
      return node;
    }

    // ---- below the stage ----

    // Who composes an edit that takes from the second prompt needs its line.
    #need(who, kind) {
      this.#needed[who] = kind;
      this.#paintSecond();
    }

    #paintSecond() {
      const { edits, source } = this.#state, isNeeded = Object.values(this.#needed).includes('patch');
      this.#second.hidden = !(isNeeded || source || edits.some(text => text.startsWith('patch')));
    }

    #tools() {
      const text = el('textarea', 'taken', {
        readOnly: true, hidden: true, rows: 7, spellcheck: false, ariaLabel: 'Copied text',
      });
      const told = el('span', 'quiet', { role: 'status' }), { name } = this.#data;
      const take = kind => async () => (await this.#load()).circuitTakeAlong.take(kind, {
        ...this.#desk.now(), lab: this.#lab, name, link: location.href.split('#')[0] + await this.#address(), text, told,
      });
      const undo = button('button', () => this.#undo(), 'Undo');
      this.#painters.push(() => enable(undo, this.#before.length > 0));
      return el('div', 'part end', el('div', 'row', undo, this.#compare(),
        button('button', take('link'), 'Copy link', { hidden: !this.#model.get('linked') }),
        button('button', take('snippet'), 'Copy as Python'),
        button('button', take('table'), 'Download CSV'),
        button('button', () => { this.#path.restart(); this.#change(this.#opening); }, 'Start again'), told), text);
    }

    #paint() {
      this.#paintPlaces();
      this.#paintSecond();
      this.#isClosed = this.#form?.show(this.#desk.now()) ?? false;
      for (const node of this.#told) node.hidden = this.#isClosed;
      if (!this.#isClosed) this.#paintTold();
      for (const paint of this.#painters) paint();
    }

    #paintTold() {
      const lit = this.#path.litAt(this.#state);
      placesOf(this.#state).forEach(({ run, step }, i) =>
        this.#stages[i].show(
          this.#readings[i], this.#lab.run(run), this.#lab.testsAt(run, step), this.#state, i ? [] : lit));
      this.#showOthers();
    }
  }

  return opened((model, box, still) => new View(model, box, still).start());
})();
