// The explorer: trained networks that a reader can take apart. An anywidget module, in a notebook and in the page.
// The model holds `exhibit` (what there is to see), the fields of the state, and answers { want: run } with its
// weights: later, or at once, before `send` returns. Defines `circuitExplorer`, which widget.py makes the default export.
// It holds the stage; all else that a reader can do comes with the second module, once the stage is there.
globalThis.circuitExplorer = (() => {
  'use strict';
  const { el, same, say } = pageParts('explorer'), { headsOf, placesOf } = circuitLab;
  const { wanting, fieldsOf, pathOf, onUndo, opened, sentence } = circuitShell;
  const FIELDS = ['run', 'step', 'prompt', 'source', 'edits', 'resample', 'other', 'rule'];
  const PAUSE = 300; // milliseconds until the address follows

  class View {
    #model;
    #box;
    #data;
    lab;
    #opening;
    #state; // what is shown
    #coming; // what was asked for since, while it is being computed
    #readings; // of the networks that are shown
    #before = []; // states to go back to
    #places;
    #stages;
    #stills; // pictures of networks beside each other
    #parts; // a promise of the second module
    #below; // of circuitBelow, from then on
    #form; // of the task, in which a prompt is asked: what tells the answer is closed until it says so
    #live;
    #turn = 0;
    #path;
    want;
    #fields;
    #writing;
    #problem = el('p', 'problem', { role: 'alert' }); // of everything but a field
    #lacking = ''; // what is told in place of the panels, where they could not be started

    constructor(model, box, still) {
      [this.#model, this.#box, this.#data] = [model, box, model.get('exhibit')];
      const lab = this.lab = new circuitLab.Lab(this.#data);
      this.#opening = { ...this.#data.opening, ...this.#data.path[0]?.state };
      this.#stills = [...still?.querySelectorAll('.circuits svg') ?? []];
      const { change, edit } = this, ready = () => this.#load();
      this.#path = pathOf(this.#data.path, this.#opening, change);
      const ask = async (form, words) =>
        change({ prompt: (await ready()).circuitPrompt.settled(form, words).join(' ') }, 'prompt');
      this.#stages = [0, 1].map(() => new circuitStage.Stage(lab, this.#data, { edit, ask, ready }));
      const follow = ({ rule, ...other }) =>
        change(rule === undefined ? { other: { ...this.#base.other, ...other } } : { rule });
      this.#places = [
        new circuitPlaces.Place(lab, 'Network', change), new circuitPlaces.Place(lab, 'Compared with', follow)];
      const shown = this.#stages.map(({ room, beside }, i) =>
        el('div', 'part shown', room.node, this.#places[i].node, room.readout, beside));
      this.#live = el('div', 'live', this.#path.node, ...shown, this.#problem);
      onUndo(this.#live, this.undo);
      this.want = wanting(lab, model);
      this.#fields = fieldsOf(model, FIELDS, asked => this.#state && !same(asked, this.#state) && change(asked));
      if (model.get('linked')) addEventListener('hashchange', () => this.#followLink());
    }

    // What a change starts from.
    get #base() { return this.#coming ?? this.#state; }

    async start() {
      let linked = null, wrong = '';
      if (this.#data.form) {
        this.#form = new (await this.#load()).circuitReveal.Form(this.#data, this);
        this.#live.prepend(this.#form.rules, this.#places[0].node, this.#form.node);
      }
      try {
        linked = await this.#linked();
      } catch (error) { wrong = error.message; }
      if (linked && !(await this.change(linked))) wrong = this.#problem.textContent;
      if (!this.#state && !(await this.change(this.#fields.asked()))) throw new Error(this.#problem.textContent);
      if (wrong) this.#complain(`the address could not be followed: ${wrong}`);
      this.#box.append(this.#live);
      requestAnimationFrame(() => setTimeout(() => this.#load())); // when the stage has been painted
    }

    // ---- the state outside: fields of the model, the address ----

    async #linked() {
      const { hash } = location, { name } = this.#data;
      if (!this.#model.get('linked') || !hash.startsWith(`#${name}?`)) return null;
      return (await this.#load()).circuitTakeOut.fromAddress(hash, name, this.#opening);
    }

    async #followLink() {
      try {
        const asked = await this.#linked();
        if (asked && !same(asked, this.#state)) this.change(asked);
      } catch (error) { this.#complain(error.message); }
    }

    #share() {
      this.#fields.share(this.#state);
      if (this.#lacking || !this.#model.get('linked') || !this.#box.contains(this.#live)) return;
      // A browser takes some 40 ms for it, and refuses it to those who ask too often.
      clearTimeout(this.#writing);
      this.#writing = setTimeout(async () => {
        const { circuitTakeOut: { address } } = await this.#load();
        history.replaceState(null, '', address(this.#data.name, this.#state, this.#opening));
      }, PAUSE);
    }

    // ---- changes ----

    // typed: what stays in the field.
    #complain(words, field, typed) {
      const text = words && sentence(words);
      say(this.#problem, (!field && text) || this.#lacking);
      this.#below?.complain(text, field, typed);
    }

    edit = texts => { this.change({ edits: editText.toggled(this.#base.edits, texts) }); };

    undo = () => {
      const before = this.#before.pop();
      if (before) this.change(before, '', true);
    };

    canUndo = () => this.#before.length > 0;

    restart = () => {
      this.#path.restart();
      this.change(this.#opening);
    };

    // What can be gone back to; a walk through training is one step.
    #remember(state, next) {
      const isWalk = (a, b) => same({ ...a, step: 0, other: null }, { ...b, step: 0, other: null });
      const last = this.#before.at(-1);
      if (last && isWalk(last, state) && isWalk(state, next)) return;
      this.#before.push(state);
    }

    // Compute the changed state and show it; what cannot be computed is told, and nothing else changes.
    change = async (changes, field = '', isUndone = false) => {
      const turn = ++this.#turn, lab = this.lab, before = this.#coming, next = this.#coming = { ...this.#base };
      for (const name of FIELDS) if (name in changes) next[name] = changes[name];
      let told = '';
      try {
        lab.knowRule(next.rule);
        for (const { run } of placesOf(next)) {
          lab.run(run);
          const coming = this.want(run);
          if (coming) await coming;
        }
        if (!lab.edits && !lab.isPlain(next)) await this.#load();
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
        if (before && !(await this.change(before))) return false; // what was on its way arrives all the same
        if (this.#state) this.#paintPlaces(); // menus go back to what is shown
        this.#complain(error.message, field, changes[field]);
        return false;
      }
      if (this.#state && !isUndone && !same(this.#state, next)) this.#remember(this.#state, next);
      [this.#state, this.#coming] = [next, null];
      this.#complain(told);
      this.repaint();
      this.#share();
      return true;
    };

    // Another network may lack the parts that were edited: its edits start anew.
    #fits(next) {
      const heads = ({ run }) => headsOf(this.lab.run(run).config);
      return placesOf(next).every(place => same(heads(place), heads(this.#state)));
    }

    // ---- what is shown ----

    #paintPlaces() {
      const shown = placesOf(this.#state);
      shown.forEach((place, i) => this.#places[i].show(place, this.#state.rule));
      this.#places[1].node.parentElement.hidden = shown.length < 2;
    }

    repaint = () => {
      this.#paintPlaces();
      const isClosed = this.#form?.show(this.now()) ?? false, state = this.#state;
      for (const { room, beside } of this.#stages) {
        for (const part of [room.node, room.readout, beside]) part.hidden = isClosed;
      }
      const light = links => this.#path.light(state, links);
      const texts = isClosed ? ['Guess first.'] : placesOf(state).map(({ run, step }, i) => this.#stages[i].show(
        this.#readings[i], this.lab.run(run), this.lab.testsAt(run, step), state, light));
      this.#path.show(state, texts.join(' Compared with: '));
      this.#below?.show(isClosed);
    };

    // ---- the second module ----

    now = () => ({ state: this.#state, readings: this.#readings });
    need = (who, kind) => this.#below?.need(who, kind);

    // Without it the stage stays as it is; why stands where the panels would.
    #load() {
      return this.#parts ??= this.#startPanels().catch(error => {
        this.#below = this.lab.edits = this.lab.prompts = null;
        for (const stage of this.#stages) stage.switches = null;
        this.#lacking = sentence(`the panels of this explorer could not be started: ${error.message}`);
        this.#complain('');
        throw new Error(this.#lacking, { cause: error });
      });
    }

    async #startPanels() {
      const url = URL.createObjectURL(new Blob([this.#model.get('panels')], { type: 'text/javascript' }));
      try {
        const parts = (await import(url)).default({
          pageParts, circuitSvg, circuitDecoder, circuitLab, circuitLookup, circuitBars, circuitStrip, circuitMoves,
          circuitLayout, circuitDrawing, editText,
        });
        this.#arm(parts);
        return parts;
      } finally { URL.revokeObjectURL(url); }
    }

    #arm({ circuitEdited, circuitPrompt, circuitSwitches, circuitBelow }) {
      Object.assign(this.lab, { edits: circuitEdited.editedIn(this.lab), prompts: circuitPrompt });
      this.#stages.forEach((stage, i) => {
        stage.switches = new circuitSwitches.Switches({ edit: this.edit, need: kind => this.need(i, kind) });
      });
      this.#below = new circuitBelow.Below(this, this.#data, {
        stills: this.#stills, opening: this.#opening, isLinked: this.#model.get('linked'),
      });
      if (this.#state) this.repaint();
      // Nothing is there until all of it can be.
      for (const { beside, switches } of this.#stages) beside.append(switches.node);
      this.#live.append(this.#below.asked, this.#below.told);
    }
  }

  return opened((...all) => new View(...all).start());
})();
