// The explorer: trained networks that a reader can take apart. An anywidget module, in a notebook and in the page.
// The model holds `exhibit` (what there is to see), the fields of the state, and answers { want: run } with its
// weights: later, or at once, before `send` returns. Defines `circuitExplorer`, which widget.py makes the default export.
globalThis.circuitExplorer = (() => {
  'use strict';
  const { el, same, say, enable, button, fill } = pageParts('explorer'), { headsOf } = circuitLab;
  const { Pane, table, named, cell, bar, signed, share } = circuitPane;
  const { FIELDS, address, fromAddress, python, csv, download } = circuitTakeOut;
  const PAUSE = 300; // milliseconds until the address follows
  const placesOf = state => (state.other ? [state, state.other] : [state]);

  class View {
    #model;
    #box;
    #data;
    #lab;
    #opening;
    #state; // what is shown
    #coming; // what was asked for since, while it is being computed
    #readings; // of the networks that are shown
    #places;
    #panes;
    #composer;
    #live;
    #waiting = new Map(); // of weights: run -> promise and what settles it
    #turn = 0;
    #stop = 0; // of the suggested path
    #isSharing;
    #writing;
    #painters = []; // each part paints itself, when there is something to show
    #inputs = {};
    #problems = { '': el('p', 'problem', { role: 'alert' }) }; // by field; without one, of everything else

    constructor(model, box) {
      [this.#model, this.#box, this.#data] = [model, box, model.get('exhibit')];
      const lab = this.#lab = new circuitLab.Lab(this.#data);
      this.#opening = { ...this.#data.opening, ...this.#data.path[0]?.state };
      this.#panes = [0, 1].map(() => new Pane(lab, (head, query, key) => this.#edit(`cut(${head}:${query}->${key})`)));
      const change = changes => this.#change(changes);
      const follow = other => change({ other: { ...this.#base.other, ...other } });
      this.#places = [
        new circuitPlaces.Place(lab, 'Network', change), new circuitPlaces.Place(lab, 'Compared with', follow)];
      const shuffled = () => circuitPrompt.shuffled(lab.task, this.#readings[0].asked.form);
      const second = this.#line('Second prompt', 'source', shuffled);
      this.#composer = new circuitComposer.Composer(lab, second, { change, edit: text => this.#edit(text) });
      this.#composer.node.append(this.#problems['']);
      this.#live = el('div', 'live', this.#path(), this.#chooser(),
        el('div', 'part', this.#line('Prompt', 'prompt', shuffled, this.#examples()), second),
        this.#composer.node, this.#results(), this.#sweep(), this.#tools());
      model.on('msg:custom', message => this.#arrived(message));
      model.on(FIELDS.map(field => `change:${field}`).join(' '), () => this.#follow());
      if (model.get('linked')) addEventListener('hashchange', () => this.#followLink());
    }

    // What a change starts from.
    get #base() { return this.#coming ?? this.#state; }

    async start() {
      const problem = this.#problems[''];
      let linked = null, wrong = '';
      try {
        linked = this.#linked();
      } catch (error) { wrong = error.message; }
      if (linked && !(await this.#change(linked))) wrong = problem.textContent;
      if (!this.#state && !(await this.#change(this.#asked()))) throw new Error(problem.textContent);
      if (wrong) this.#complain(`The address could not be followed: ${wrong}`);
      this.#box.append(this.#live);
      if (linked) this.#box.scrollIntoView();
    }

    // ---- the state outside: fields of the model, the address ----

    #asked() { return Object.fromEntries(FIELDS.map(field => [field, this.#model.get(field)])); }

    #linked() {
      return this.#model.get('linked') ? fromAddress(location.hash, this.#data.name, this.#opening) : null;
    }

    #address() { return address(this.#data.name, this.#state, this.#opening); }

    #follow() {
      const asked = this.#asked();
      if (!this.#isSharing && this.#state && !same(asked, this.#state)) this.#change(asked);
    }

    #followLink() {
      try {
        const asked = this.#linked();
        if (asked && !same(asked, this.#state)) this.#change(asked);
      } catch (error) { this.#complain(error.message); }
    }

    #share() {
      const model = this.#model, state = this.#state;
      this.#isSharing = true; // a model tells of every field by itself, when the others are still the old ones
      for (const field of FIELDS) if (!same(model.get(field), state[field])) model.set(field, state[field]);
      this.#isSharing = false;
      model.save_changes();
      if (!model.get('linked') || !this.#box.contains(this.#live)) return;
      // A browser takes some 40 ms for it, and refuses it to those who ask too often.
      clearTimeout(this.#writing);
      this.#writing = setTimeout(() => history.replaceState(null, '', this.#address()), PAUSE);
    }

    // ---- weights ----

    #want(run) {
      if (this.#lab.has(run)) return null;
      let waiter = this.#waiting.get(run);
      if (!waiter) {
        waiter = {};
        waiter.done = new Promise((resolve, reject) => Object.assign(waiter, { resolve, reject }));
        this.#waiting.set(run, waiter);
        this.#model.send({ want: run });
      }
      return waiter.done;
    }

    #arrived({ run, packed, error }) {
      const waiter = this.#waiting.get(run);
      this.#waiting.delete(run);
      try {
        if (error) throw new Error(error);
        this.#lab.add(run, packed);
        waiter?.resolve();
      } catch (problem) { waiter?.reject(problem); }
    }

    // ---- changes ----

    #complain(text, field = '') {
      for (const [name, node] of Object.entries(this.#problems)) say(node, name === field ? text : '');
    }

    #edit(text) {
      const { edits } = this.#base;
      this.#change({ edits: edits.includes(text) ? edits.filter(other => other !== text) : [...edits, text] });
    }

    // Compute the changed state and show it; what cannot be computed is told, and nothing else changes.
    async #change(changes, field = '') {
      const turn = ++this.#turn, lab = this.#lab, before = this.#coming, next = this.#coming = { ...this.#base };
      for (const name of FIELDS) if (name in changes) next[name] = changes[name];
      let told = '';
      try {
        for (const { run } of placesOf(next)) {
          lab.run(run);
          const coming = this.#want(run);
          if (coming) await coming;
        }
        if (turn !== this.#turn) return false;
        next.step = lab.nearest(next.run, next.step);
        if (next.other) next.other = { ...next.other, step: lab.nearest(next.other.run, next.other.step) };
        if (this.#state && !('edits' in changes) && !this.#fits(next)) next.edits = [];
        if (field === 'prompt') told = this.#dropPatches(next);
        const found = placesOf(next).map(place => lab.read(place, next));
        if (field === 'source' && next.source.trim()) lab.second(next.source, found[0].asked.ids.length);
        this.#readings = found;
      } catch (error) {
        if (turn !== this.#turn) return false;
        this.#coming = null;
        if (before && !(await this.#change(before))) return false; // what was on its way arrives all the same
        if (this.#state) this.#paintPlaces(); // menus go back to what is shown
        if (field) this.#inputs[field].value = changes[field];
        this.#complain(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`, field);
        return false;
      }
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

    // A typed prompt of another length than the second one leaves a patch nothing to take: it goes, and that is told.
    #dropPatches(next) {
      const edits = next.edits.filter(text => !text.startsWith('patch'));
      if (edits.length === next.edits.length) return '';
      const [n, second] = [next.prompt, next.source].map(text => circuitPrompt.read(this.#lab.task, text).ids.length);
      if (n === second) return '';
      next.edits = edits;
      return `Patches are removed: the prompt has ${n} tokens, the second one ${second}; they must have as many.`;
    }

    // ---- parts, made once ----

    #path() {
      const { path } = this.#data, text = el('p', 'story'), told = el('span', 'quiet');
      const go = by => async () => {
        const before = this.#stop, step = path[before + by];
        if (!step) return;
        this.#stop += by;
        if (!(await this.#change({ ...this.#opening, ...step.state }))) this.#stop = before;
      };
      const back = button('button', go(-1), 'Back'), next = button('button', go(1), 'Next');
      if (path.length) this.#painters.push(() => {
        const at = this.#stop, step = path[at];
        const isHere = same({ ...this.#opening, ...step.state, step: 0 }, { ...this.#state, step: 0 });
        text.replaceChildren(el('strong', '', `${step.title} `), step.text);
        say(told, `${at + 1} of ${path.length}${isHere ? '' : ', changed by you'}`);
        enable(back, at > 0);
        enable(next, at < path.length - 1);
      });
      return el('div', 'part path', { role: 'group', ariaLabel: 'Suggested path', hidden: !path.length }, text,
        el('div', 'row', back, next, told));
    }

    #chooser() {
      const compare = button('button', () => {
        const { other, run } = this.#base;
        this.#change({ other: other ? null : { run, step: this.#lab.run(run).steps[0] } });
      });
      this.#painters.push(() => say(compare, this.#state.other ? 'Stop comparing' : 'Compare with another'));
      return el('div', 'part', ...this.#places.map(({ node }) => node), el('div', 'row', compare));
    }

    #paintPlaces() {
      const shown = placesOf(this.#state);
      shown.forEach((place, i) => this.#places[i].show(place));
      this.#places[1].node.hidden = this.#panes[1].node.hidden = shown.length < 2;
    }

    // A field for a prompt, what is wrong with it, and a button to fill it; `more` stands beside the button.
    #line(label, field, shuffled, ...more) {
      const act = () => this.#change({ [field]: input.value }, field);
      const input = this.#inputs[field] = el('input', 'prompt', {
        type: 'text', spellcheck: false, autocomplete: 'off', onchange: act,
      });
      const problem = this.#problems[field] = el('p', 'problem', { role: 'alert' });
      const shuffle = button('button', () => { input.value = shuffled(); act(); }, 'Shuffle');
      shuffle.ariaLabel = `Shuffle: ${label.toLowerCase()}`;
      this.#painters.push(() => { if (input.value !== this.#state[field]) input.value = this.#state[field]; });
      return el('div', 'ask', el('label', 'field', label, input), problem, el('div', 'row', shuffle, ...more));
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

    #results() {
      const both = el('div', 'both', ...this.#panes.map(({ node }) => node));
      this.#painters.push(() => {
        const { edits, other } = this.#state, cuts = new Map();
        for (const text of edits) {
          const [, head, query, key] = /^cut\((L\d+H\d+):(\d+)->(\d+)\)$/.exec(text) ?? [];
          if (head) cuts.set(head, (cuts.get(head) ?? new Set()).add(`${query},${key}`));
        }
        both.classList.toggle('is-two', Boolean(other));
        placesOf(this.#state).forEach(({ run, step }, i) => {
          const { condition, seed } = this.#lab.run(run);
          const title = other ? `${condition}, seed ${seed}, step ${circuitStrip.number(step)}` : '';
          this.#panes[i].show(title, this.#readings[i], cuts, edits.length > 0);
        });
      });
      return both;
    }

    #sweep() {
      const lab = this.#lab, found = el('div');
      const paint = () => {
        if (!node.open || !this.#state) return;
        const rows = lab.subsets(this.#state, this.#state).map(({ off, margin, probability: p, says }) => el('tr', '',
          named(off.join(', ') || 'none'), bar(p), cell(share(p)), cell(signed(margin)), cell(lab.word(says))));
        const answer = lab.word(this.#readings[0].now.target);
        const caption = `Probability of ${answer} with these heads set to zero, on top of the edits in place.`;
        found.replaceChildren(table(caption, ['off', 'probability', '', 'margin', 'likeliest'], rows));
      };
      const summary = el('summary', '', 'Every set of heads switched off');
      const node = el('details', 'sweep', { ontoggle: paint }, summary, found);
      this.#painters.push(paint);
      return node;
    }

    #tools() {
      const text = el('textarea', 'taken', {
        readOnly: true, hidden: true, rows: 7, spellcheck: false, ariaLabel: 'Copied text',
      });
      const told = el('span', 'quiet', { role: 'status' }), { name } = this.#data;
      // The text is shown as well: not every page may write to the clipboard.
      const take = (what, make) => () => {
        Object.assign(text, { value: make(), hidden: false });
        text.select();
        const tell = is => () => say(told, `${what} is ${is}.`);
        (navigator.clipboard?.writeText(text.value) ?? Promise.reject()).then(tell('copied'), tell('below'));
      };
      const link = () => location.href.split('#')[0] + this.#address(), hidden = !this.#model.get('linked');
      return el('div', 'part end', el('div', 'row',
        button('button', take('The link', link), 'Copy link', { hidden }),
        button('button', take('The snippet', () => python(this.#state, this.#readings)), 'Copy as Python'),
        button('button', () => download(`${name}.csv`, csv(this.#lab, this.#state, this.#readings)), 'Download CSV'),
        button('button', () => { this.#stop = 0; this.#change(this.#opening); }, 'Start again'), told), text);
    }

    #paint() {
      this.#paintPlaces();
      this.#composer.show(this.#state, this.#readings[0].asked);
      for (const paint of this.#painters) paint();
    }
  }

  async function render({ model, el: box }) {
    box.classList.add('explorer');
    const still = box.querySelector('.explorer-still'), view = new View(model, box);
    try {
      await view.start();
      box.classList.add('is-live');
    } catch (error) {
      say(still?.querySelector('.explorer-without') ?? box.appendChild(el('p', 'problem')),
        `The explorer cannot run here: ${error.message}`);
      throw error;
    }
  }

  return { render };
})();
