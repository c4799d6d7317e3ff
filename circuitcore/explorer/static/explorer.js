// The explorer: trained networks that a reader can take apart. An anywidget module, in a notebook and in the page.
// The model holds `exhibit` (what there is to see), the fields of the state, and answers { want: run } with its
// weights. Defines `circuitExplorer`, which widget.py makes the default export.
globalThis.circuitExplorer = (() => {
  'use strict';
  const { el, mark, say, enable, button, toolbar } = pageParts('explorer');
  const { FIELDS, address, fromAddress, python, csv, download } = circuitTakeOut;
  const KINDS = { zero: 'set to zero', mean: 'set to its mean', resample: 'take from a reference prompt', patch: 'take from the second prompt' };
  const STREAM = { resid_pre: 0, resid_mid: 0, mlp_post: 1, mlp_out: 1, resid_post: 0 }; // 1: only where there is an MLP
  const PAUSE = 300; // milliseconds until the address follows
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const placesOf = state => (state.other ? [state, state.other] : [state]);

  class View {
    constructor(model, box) {
      Object.assign(this, { model, box, data: model.get('exhibit'), waiting: new Map(), turn: 0 });
      this.lab = new circuitLab.Lab(this.data);
      this.opening = { ...this.data.opening, ...this.data.path[0]?.state };
      this.panes = [0, 1].map(() => new circuitPane.Pane({ cut: (...edge) => this.cut(...edge) }));
      const place = (name, choose) => new circuitPlaces.Place(this.lab, name, choose);
      this.places = [place('Network', at => this.change(at)), place('Compared with', other => this.change({ other }))];
      this.live = el('div', 'live', {}, this.path(), this.chooser(), this.prompt(), this.edits(), this.results(), this.sweep(), this.tools());
      model.on('msg:custom', message => this.arrived(message));
      model.on(FIELDS.map(field => `change:${field}`).join(' '), () => this.follow());
      if (model.get('linked')) addEventListener('hashchange', () => this.fromLink());
    }

    async start() {
      const asked = Object.fromEntries(FIELDS.map(field => [field, this.model.get(field)]));
      let linked = null, wrong = '';
      try {
        linked = this.model.get('linked') ? fromAddress(location.hash, this.data.name, this.opening) : null;
      } catch (error) { wrong = error.message; }
      if (linked && !(await this.change(linked))) wrong = this.problem.textContent;
      if (!this.state && !(await this.change(asked))) throw new Error(this.problem.textContent);
      if (wrong) this.complain(`The address could not be followed: ${wrong}`);
      this.box.append(this.live);
      if (linked) this.box.scrollIntoView();
    }

    // ---- weights ----

    want(run) {
      if (this.lab.has(run)) return null;
      if (!this.waiting.has(run)) {
        const waiter = {};
        waiter.done = new Promise((resolve, reject) => Object.assign(waiter, { resolve, reject }));
        this.waiting.set(run, waiter);
        this.model.send({ want: run });
      }
      return this.waiting.get(run).done;
    }

    arrived({ run, packed, error }) {
      const waiter = this.waiting.get(run);
      this.waiting.delete(run);
      try {
        if (error) throw new Error(error);
        this.lab.add(run, packed);
        waiter?.resolve();
      } catch (problem) { waiter?.reject(problem); }
    }

    // ---- parts, made once ----

    path() {
      const steps = this.data.path;
      this.at = 0;
      this.pathText = el('p', 'story');
      const go = by => () => this.follow_path(this.at + by);
      this.back = button('button', go(-1), { textContent: 'Back' });
      this.next = button('button', go(1), { textContent: 'Next' });
      this.pathPlace = el('span', 'quiet');
      const part = el('div', 'part path', { aria: { role: 'group', label: 'Suggested path' } }, this.pathText,
        el('div', 'row', {}, this.back, this.next, this.pathPlace));
      part.hidden = !steps.length;
      return part;
    }

    chooser() {
      const compare = () => this.change({ other: this.state.other ? null : { run: this.state.run, step: this.lab.run(this.state.run).steps[0] } });
      this.compare = button('button', compare);
      this.places[1].node.hidden = true;
      return el('div', 'part', {}, this.places[0].node, this.places[1].node, el('div', 'row', {}, this.compare));
    }

    // A field for a prompt, what is wrong with it, and a button to fill it; `more` stands beside the button.
    line(label, field, shuffle, ...more) {
      const input = el('input', 'prompt', { type: 'text', spellcheck: false, autocomplete: 'off', onchange: () => this.change({ [field]: input.value }, field) });
      const problem = el('p', 'problem', { aria: { role: 'alert' } });
      const fill = button('button', () => { input.value = shuffle(); input.onchange(); }, { textContent: 'Shuffle' });
      mark(fill, 'label', `Shuffle: ${label.toLowerCase()}`);
      this[field] = { input, problem };
      return el('div', 'ask', {}, el('label', 'field', {}, label, input), problem, el('div', 'row', {}, fill, ...more));
    }

    prompt() {
      const shuffled = () => circuitPrompt.shuffled(this.lab.task, this.panesNow[0].asked.form);
      this.examples = el('select', '', { onchange: () => this.change({ prompt: this.examples.value }, 'prompt') },
        el('option', '', { value: '', textContent: 'Examples' }),
        ...this.lab.task.examples.map(({ label, prompt }) => el('option', '', { value: prompt, textContent: label })));
      mark(this.examples, 'label', 'Examples of prompts');
      this.secondLine = this.line('Second prompt', 'source', shuffled);
      return el('div', 'part', {}, this.line('Prompt', 'prompt', shuffled, this.examples), this.secondLine);
    }

    edits() {
      this.switches = el('div', 'row switches', { aria: { label: 'Switch parts off' } });
      this.switchStop = toolbar(this.switches);
      const select = (label, onchange) => {
        const node = el('select', '', { onchange });
        mark(node, 'label', label);
        return node;
      };
      this.kind = select('What to do', () => this.fillComposer());
      this.kind.replaceChildren(...Object.entries(KINDS).map(([value, textContent]) => el('option', '', { value, textContent })));
      [this.part, this.where] = [select('Which part'), select('At which position')];
      this.add = button('button', () => this.edit([`${this.kind.value}(${this.part.value})@${this.where.value}`]), { textContent: 'Add edit' });
      const composer = el('div', 'row', {}, this.part, this.kind, this.where, this.add);
      this.number = el('input', 'count', { type: 'number', min: 0, step: 1, onchange: () => this.change({ resample: Number(this.number.value) }) });
      this.reference = el('span', 'quiet');
      this.referenceLine = el('div', 'row', {}, el('label', 'field', {}, 'Reference prompt ', this.number), this.reference);
      this.chips = el('div', 'row chips', { aria: { label: 'Edits in place: press to remove' } });
      this.chipStop = toolbar(this.chips);
      this.problem = el('p', 'problem', { aria: { role: 'alert' } });
      return el('div', 'part', { aria: { role: 'group', label: 'Edits' } }, this.switches, composer, this.referenceLine, this.chips, this.problem);
    }

    results() {
      this.panes[1].node.hidden = true;
      return (this.both = el('div', 'both', {}, ...this.panes.map(({ node }) => node)));
    }

    sweep() {
      this.subsets = el('details', 'sweep', { ontoggle: () => this.paintSubsets() }, el('summary', '', { textContent: 'Every set of heads switched off' }));
      this.subsets.append((this.subsetTable = el('div')));
      return this.subsets;
    }

    tools() {
      this.taken = el('textarea', 'taken', { readOnly: true, hidden: true, rows: 7, spellcheck: false });
      mark(this.taken, 'label', 'Copied text');
      this.told = el('span', 'quiet', { aria: { role: 'status' } });
      const link = () => `${location.href.split('#')[0]}${address(this.data.name, this.state, this.opening)}`;
      const made = [
        button('button', () => this.take(python(this.state, this.panesNow), 'The snippet'), { textContent: 'Copy as Python' }),
        button('button', () => download(`${this.data.name}.csv`, csv(this.lab, this.state, this.panesNow)), { textContent: 'Download CSV' }),
        button('button', () => { this.at = 0; this.change(this.opening); }, { textContent: 'Start again' }),
      ];
      if (this.model.get('linked')) made.unshift(button('button', () => this.take(link(), 'The link'), { textContent: 'Copy link' }));
      return el('div', 'part end', {}, el('div', 'row', {}, ...made, this.told), this.taken);
    }

    // ---- what the reader does ----

    // The text is shown as well: not every page may write to the clipboard.
    take(text, name) {
      Object.assign(this.taken, { value: text, hidden: false });
      this.taken.select();
      const told = done => say(this.told, done ? `${name} is copied.` : `${name} is below.`);
      (navigator.clipboard?.writeText(text) ?? Promise.reject()).then(() => told(true), () => told(false));
    }

    async follow_path(index) {
      const step = this.data.path[index], before = this.at;
      if (!step) return;
      this.at = index;
      if (!(await this.change({ ...this.opening, ...step.state }))) this.at = before;
    }

    edit(texts) {
      const { edits } = this.state, added = texts.filter(text => !edits.includes(text));
      this.change({ edits: added.length ? [...edits, ...added] : edits.filter(text => !texts.includes(text)) });
    }

    cut(head, query, key) { this.edit([`cut(${head}:${query}->${key})`]); }

    follow() {
      if (this.isSharing) return;
      const asked = Object.fromEntries(FIELDS.map(field => [field, this.model.get(field)]));
      if (this.state && !same(asked, this.state)) this.change(asked);
    }

    fromLink() {
      try {
        const asked = fromAddress(location.hash, this.data.name, this.opening);
        if (asked && !same(asked, this.state)) this.change(asked);
      } catch (error) { this.complain(error.message); }
    }

    complain(text, field = '') {
      for (const line of ['prompt', 'source']) say(this[line].problem, line === field ? text : '');
      say(this.problem, field ? '' : text);
    }

    // Compute the changed state and show it; what cannot be computed is told, and nothing else changes.
    async change(changes, field = '') {
      const turn = ++this.turn, next = { ...this.state, ...Object.fromEntries(FIELDS.filter(name => name in changes).map(name => [name, changes[name]])) };
      try {
        for (const { run } of placesOf(next)) {
          this.lab.run(run);
          const coming = this.want(run);
          if (coming) await coming;
        }
        if (turn !== this.turn) return false;
        next.step = this.lab.nearest(next.run, next.step);
        if (next.other) next.other = { ...next.other, step: this.lab.nearest(next.other.run, next.other.step) };
        if (this.state && !('edits' in changes) && !this.fits(next)) next.edits = [];
        const found = placesOf(next).map(place => this.lab.read(place, next));
        if (field === 'source' && next.source.trim()) this.lab.second(next.source, found[0].asked.ids.length);
        this.panesNow = found;
      } catch (error) {
        if (turn !== this.turn) return false;
        if (this.state) this.paintPlaces(); // menus go back to what is shown
        this.complain(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`, field);
        return false;
      }
      this.state = next;
      this.complain('');
      this.paint();
      this.share();
      return true;
    }

    // Another network may lack the parts that were edited: its edits start anew.
    fits(next) {
      const size = ({ run }) => { const { n_layers: l, n_heads: h } = this.lab.run(run).config; return [l, h]; };
      return placesOf(next).every(place => same(size(place), size(this.state)));
    }

    share() {
      this.isSharing = true; // a model tells of every field by itself, when the others are still the old ones
      for (const field of FIELDS) if (!same(this.model.get(field), this.state[field])) this.model.set(field, this.state[field]);
      this.isSharing = false;
      this.model.save_changes();
      if (this.model.get('linked') && this.box.contains(this.live)) {
        // A browser takes some 40 ms for it, and refuses it to those who ask too often.
        clearTimeout(this.writing);
        this.writing = setTimeout(() => history.replaceState(null, '', address(this.data.name, this.state, this.opening)), PAUSE);
      }
    }

    // ---- painting ----

    paint() {
      const { state, panesNow } = this, [{ asked }] = panesNow;
      this.paintPath();
      this.paintPlaces();
      for (const field of ['prompt', 'source']) if (this[field].input.value !== state[field]) this[field].input.value = state[field];
      this.examples.value = this.lab.task.examples.some(({ prompt }) => prompt === state.prompt) ? state.prompt : '';
      this.paintEdits(asked);
      const cuts = new Map();
      for (const text of state.edits) {
        const cut = /^cut\((L\d+H\d+):(\d+)->(\d+)\)$/.exec(text);
        if (cut) cuts.set(cut[1], (cuts.get(cut[1]) ?? new Set()).add(`${cut[2]},${cut[3]}`));
      }
      const isEdited = state.edits.length > 0, title = ({ run, step }) => {
        const { condition, seed } = this.lab.run(run);
        return `${condition}, seed ${seed}, step ${circuitStrip.number(step)}`;
      };
      panesNow.forEach((reading, i) => this.panes[i].show(state.other ? title(placesOf(state)[i]) : '', this.lab, reading, { cuts, isEdited }));
      this.paintSubsets();
    }

    paintPath() {
      const { path } = this.data, step = path[this.at];
      if (!step) return;
      const isHere = same({ ...this.opening, ...step.state, step: 0 }, { ...this.state, step: 0 });
      this.pathText.replaceChildren(el('strong', '', { textContent: `${step.title} ` }), step.text);
      say(this.pathPlace, `${this.at + 1} of ${path.length}${isHere ? '' : ', changed by you'}`);
      enable(this.back, this.at > 0);
      enable(this.next, this.at < path.length - 1);
    }

    paintPlaces() {
      const { other } = this.state;
      this.places[0].show(this.state);
      if (other) this.places[1].show(other);
      this.places[1].node.hidden = this.panes[1].node.hidden = !other;
      this.both.classList.toggle('is-two', Boolean(other));
      say(this.compare, other ? 'Stop comparing' : 'Compare with another');
    }

    paintEdits(asked) {
      const { edits, resample } = this.state, { n_layers: layers, n_heads: heads, mlp } = this.lab.run(this.state.run).config;
      const parts = Array.from({ length: layers }, (_, layer) => [
        ...Array.from({ length: heads }, (_, head) => `L${layer}H${head}`), ...(mlp === 'none' ? [] : [`L${layer}MLP`])]).flat();
      if (!same(parts, this.known)) {
        this.known = parts;
        this.switches.replaceChildren(...parts.map(part => button('switch', () => this.edit([`zero(${part})@all`]), { value: part })));
      }
      for (const node of this.switches.children) {
        const isOff = edits.includes(`zero(${node.value})@all`);
        say(node, `${node.value} ${isOff ? 'off' : 'on'}`);
        mark(node, 'pressed', isOff);
      }
      this.switchStop();
      const at = [...this.chips.children].indexOf(document.activeElement);
      this.chips.replaceChildren(...edits.map(text => button('chip', () => this.edit([text]), { textContent: `${text} \u00d7` })));
      if (edits.length > 1) this.chips.append(button('chip', () => this.change({ edits: [] }), { textContent: 'Undo all edits' }));
      this.chips.hidden = !edits.length;
      if (edits.length) this.chipStop();
      if (at >= 0) (this.chips.children[Math.min(at, edits.length - 1)] ?? this.add).focus();
      const known = circuitPrompt.references(this.lab.task, asked.ids.length);
      Object.assign(this.number, { value: resample, max: known.length - 1 });
      say(this.reference, known[resample]?.map(token => this.lab.task.vocab[token]).join(' ') ?? '');
      this.fillComposer(asked);
    }

    fillComposer(asked = this.panesNow[0].asked) {
      const { edits, source } = this.state, kind = this.kind.value, uses = word => edits.some(text => text.startsWith(word));
      const { n_layers: layers, n_heads: heads, mlp } = this.lab.run(this.state.run).config;
      const sites = layer => [
        ...Object.keys(STREAM).filter(site => !STREAM[site] || mlp !== 'none').map(site => `L${layer}.${site}<-source`),
        ...Array.from({ length: heads }, (_, head) => [...'qkvz'].map(site => `L${layer}H${head}.${site}<-source`)).flat()];
      const parts = kind === 'patch' ? Array.from({ length: layers }, (_, layer) => sites(layer)).flat() : this.known;
      const places = [['all', 'at all positions'], ...asked.words.map((word, at) => [String(at), `at ${at}: ${word}`]).reverse()];
      this.refill(this.part, parts.map(part => [part, part.replace('<-source', '')]));
      this.refill(this.where, places);
      this.secondLine.hidden = !(kind === 'patch' || uses('patch') || source);
      this.referenceLine.hidden = !(kind === 'resample' || uses('resample'));
    }

    refill(select, values) {
      if (same([...select.options].map(({ value, textContent }) => [value, textContent]), values)) return;
      const before = select.value;
      select.replaceChildren(...values.map(([value, textContent]) => el('option', '', { value, textContent })));
      if (values.some(([value]) => value === before)) select.value = before;
    }

    paintSubsets() {
      if (!this.subsets.open || !this.state) return;
      const { table, named, cell, bar, signed, share } = circuitPane, { vocab } = this.lab.task, found = this.lab.subsets(this.state, this.state);
      const rows = found.map(({ off, margin, probability, says }) =>
        el('tr', '', {}, named(off.join(', ') || 'none'), bar(probability), cell(share(probability)), cell(signed(margin)), cell(vocab[says])));
      const caption = `Probability of ${vocab[this.panesNow[0].now.target]} with these heads set to zero, on top of the edits in place.`;
      this.subsetTable.replaceChildren(table(caption, ['off', 'probability', '', 'margin', 'likeliest'], rows));
    }
  }

  async function render({ model, el: box }) {
    box.classList.add('explorer');
    const still = box.querySelector('.explorer-still'), view = new View(model, box);
    try {
      await view.start();
      box.classList.add('is-live');
    } catch (error) {
      (still?.querySelector('.explorer-without') ?? box.appendChild(el('p', 'problem'))).textContent = `The explorer cannot run here: ${error.message}`;
      throw error;
    }
  }

  return { render };
})();
