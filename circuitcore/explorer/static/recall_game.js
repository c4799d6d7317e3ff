// Permutation recall, played against the network in the page. Mounts every `.recall-game` that is not live yet; where
// that fails the still stays. Needs `pageParts`, `circuitDecoder` and `recallRules`; defines `recallGame`.
globalThis.recallGame = (() => {
  'use strict';
  const { Game, shuffled, answer, first, share, reading, outcome, scoreLine } = recallRules;
  const HINT = 'The height of a bar is the attention the last position pays. Press a bar to cut that edge.';
  const REFUSED = 'A head needs at least one edge. Switch the head off instead.';

  const { el, say, enable, button, toolbar } = pageParts('recall-game');
  const unbroken = text => text.replaceAll(' = ', '\u00a0=\u00a0'); // "y = 3" stays on one line

  // What the reader has changed in the network. Cuts are edges from the last position: "layer,head,key".
  class Edits {
    clear() {
      this.heads = new Set();
      this.mlps = new Set();
      this.cuts = new Set();
    }

    constructor() { this.clear(); }
    get any() { return this.heads.size + this.mlps.size + this.cuts.size > 0; }

    flip(kind, key) {
      if (!this[kind].delete(key)) this[kind].add(key);
    }

    // As the forward pass takes them.
    lists(last) {
      const numbers = key => String(key).split(',').map(Number);
      const cuts = [...this.cuts].map(numbers).map(([layer, head, key]) => [layer, head, last, key]);
      const zero = (site, layer, head = null) => ({ site, layer, head, positions: null, value: 0 });
      const heads = [...this.heads].map(numbers).map(([layer, head]) => zero('z', layer, head));
      return { cuts, puts: [...heads, ...[...this.mlps].map(layer => zero('mlp_out', layer))] };
    }
  }

  class View {
    constructor(box, data) {
      Object.assign(this, { box, data, edits: new Edits(), models: new Map(), refused: false });
      this.game = new Game(data.permutation, data.order);
      this.choice = { model: 0, checkpoint: data.models[0].checkpoints.length - 1 };
      this.live = el('div', 'live', this.rules(), this.networkMenu(), this.cards(), this.answers(), this.network(),
        this.dealing());
      this.chosen(); // also the first paint: what cannot run throws here, before anything is shown
      box.append(this.live);
      box.classList.add('is-live');
    }

    get packed() { return this.data.models[this.choice.model]; }

    get model() {
      const { model, checkpoint } = this.choice, key = `${model} ${checkpoint}`;
      if (!this.models.has(key)) this.models.set(key, circuitDecoder.unpack(this.packed, checkpoint));
      return this.models.get(key);
    }

    // ---- parts, made once ----

    rules() {
      const { size } = this.game, rule = 'goes with a y of its own. Pick an x and guess its y.';
      return el('p', '', `A permutation is hidden: every x from 1 to ${size} ${rule}`);
    }

    networkMenu() {
      const options = this.data.models.map(({ label }, value) => el('option', '', { value }, label));
      this.menu = el('select', 'select', { onchange: () => this.choose(Number(this.menu.value)) }, ...options);
      this.epoch = el('span', 'epoch');
      this.slider = el('input', 'slider', { type: 'range', min: 0, step: 1, ariaLabel: 'Epoch of training' });
      this.slider.oninput = () => this.choose(this.choice.model, Number(this.slider.value));
      this.time = el('label', 'field', el('span', '', 'Epoch '), this.slider, this.epoch);
      const menu = el('label', 'field', el('span', '', 'Network '), this.menu);
      return el('div', 'row', menu, this.time);
    }

    cards() {
      this.stepLine = el('p', 'step');
      const group = el('div', 'cards', { ariaLabel: 'Pick the next x' });
      this.cardStop = toolbar(group);
      this.cardOf = this.data.permutation.map((_, i) => {
        const parts = { x: el('strong', '', `${i + 1}`), y: el('span') };
        const card = button('card', () => this.ask(i + 1));
        card.append(parts.x, parts.y);
        group.append(card);
        return { card, ...parts };
      });
      return el('div', 'part', this.stepLine, group);
    }

    answers() {
      const key = (name, words) => el('span', 'key', el('i', `swatch ${name}`), words);
      this.networkKey = el('span');
      this.beforeKey = key('before', 'before your edits');
      const exact = key('exact', 'exact posterior'), network = key('network', this.networkKey);
      const legend = el('p', 'legend', exact, network, this.beforeKey);
      const group = el('div', 'bars', { ariaLabel: 'Guess the y: the answer is then shown' });
      this.guessStop = toolbar(group);
      this.rowOf = this.data.permutation.map((_, i) => this.answerRow(group, i + 1));
      this.reading = el('p');
      this.outcome = el('p');
      const status = el('div', 'status', { role: 'status' }, this.reading, this.outcome);
      this.score = el('p', 'score');
      this.show = button('button', () => this.reveal(), 'Show the answer');
      return el('div', 'part', legend, group, status, el('div', 'row', this.show, this.score));
    }

    answerRow(group, y) {
      const row = { guess: button('guess', () => this.reveal(y), unbroken(`y = ${y}`)), note: el('span', 'note') };
      row.line = el('div', 'answer', row.guess);
      for (const name of ['exact', 'network']) {
        row[name] = el('i', `bar ${name}`);
        row[`${name}Number`] = el('span', `number of-${name}`);
        row.line.append(el('span', `track of-${name}`, row[name]), row[`${name}Number`]);
      }
      row.before = el('i', 'before-edits');
      row.network.after(row.before);
      row.line.append(row.note);
      group.append(row.line);
      return row;
    }

    network() {
      this.strip = el('div', 'strip');
      this.strip.style.setProperty('--positions', 2 * this.game.size - 1);
      this.readout = el('p', 'readout', HINT);
      this.undo = button('button', () => this.resetEdits(), 'Undo all edits');
      const title = el('p', 'step', 'Inside the network, at its last position');
      const undo = el('div', 'row', this.undo);
      return el('div', 'part', { role: 'group', ariaLabel: 'Change the network' },
        title, this.strip, this.readout, undo);
    }

    dealing() {
      this.backButton = button('button', () => this.go(() => this.game.back()), 'Back one step');
      const fresh = () => this.go(() => this.game.deal(shuffled(this.game.size), [1]));
      const opening = () => this.go(() => this.game.deal(this.data.permutation, this.data.order));
      const checkpoints = this.data.models.flatMap(model => model.checkpoints);
      const letters = checkpoints.reduce((sum, { data }) => sum + data.length, 0);
      return el('div', 'row end', this.backButton,
        button('button', fresh, 'New permutation'),
        button('button', opening, 'Opening position'),
        el('span', 'side', `Weights in this page: ${Math.ceil(letters / 1000)} kB`));
    }

    // A row of positions, and one row for every head and MLP of the chosen network.
    fillStrip() {
      const { n_layers: layers, n_heads: heads, mlp } = this.packed.config, places = 2 * this.game.size - 1;
      this.tokenOf = Array.from({ length: places }, () => el('li', 'token'));
      const tokens = el('ol', 'tokens', { ariaLabel: 'What the network reads' }, ...this.tokenOf);
      const read = el('span', 'side', 'reads');
      this.headRows = [];
      this.mlpSwitches = [];
      this.strip.replaceChildren(el('div', 'line', read, tokens));
      for (let layer = 0; layer < layers; layer++) {
        for (let head = 0; head < heads; head++) this.strip.append(this.headRow(layer, head, places));
        if (mlp !== 'none') this.strip.append(this.mlpRow(layer, layers));
      }
    }

    switchOf(kind, key, words) {
      const state = el('span'), node = button('switch', () => this.change(() => this.edits.flip(kind, key)));
      node.append(el('span', '', words), state);
      node.role = 'switch';
      node.ariaLabel = words;
      return { node, state, isOn: () => !this.edits[kind].has(key) };
    }

    headRow(layer, head, places) {
      const name = `L${layer}H${head}`, group = el('div', 'cells', { ariaLabel: `Edges of ${name}` });
      const row = { layer, head, name, stop: toolbar(group), on: this.switchOf('heads', `${layer},${head}`, name) };
      row.cells = Array.from({ length: places }, (_, key) => {
        const fill = el('i', 'fill'), cell = button('cell', () => this.cut(layer, head, key));
        cell.append(fill);
        cell.onmouseenter = cell.onfocus = () => say(this.readout, cell.ariaLabel);
        cell.onmouseleave = cell.onblur = () => say(this.readout, HINT);
        group.append(cell);
        return { cell, fill };
      });
      this.headRows.push(row);
      row.line = el('div', 'line', row.on.node, group);
      return row.line;
    }

    mlpRow(layer, layers) {
      const found = this.switchOf('mlps', layer, layers > 1 ? `L${layer} MLP` : 'MLP');
      this.mlpSwitches.push(found);
      return el('div', 'line', found.node);
    }

    // ---- what the reader does ----

    choose(model, checkpoint) {
      const epoch = this.packed.checkpoints[this.choice.checkpoint].at, isOther = model !== this.choice.model;
      const same = this.data.models[model].checkpoints.findIndex(found => found.at === epoch);
      const last = this.data.models[model].checkpoints.length - 1;
      this.choice = { model, checkpoint: checkpoint ?? (same < 0 ? last : same) };
      if (isOther) this.chosen();
      else this.change(() => {});
    }

    // Another network: its parts are its own, so no edit is kept.
    chosen() {
      this.edits.clear();
      this.slider.max = this.packed.checkpoints.length - 1;
      this.time.hidden = this.packed.checkpoints.length < 2;
      this.fillStrip();
      this.change(() => {});
    }

    ask(x) {
      this.go(() => this.game.ask(x));
    }

    reveal(guess) {
      this.change(() => this.game.reveal(guess, first(this.found.probabilities)));
    }

    // A step of the game. Cuts belong to one position: they end when the last position is another.
    go(act) {
      const last = this.game.tokens.length;
      this.change(() => {
        act();
        if (this.game.tokens.length !== last) this.edits.cuts.clear();
      });
    }

    cut(layer, head, key) {
      const edge = `${layer},${head},${key}`, before = `${layer},${head},`;
      const cuts = [...this.edits.cuts].filter(other => other.startsWith(before)).length;
      if (!this.edits.cuts.has(edge) && cuts === this.game.tokens.length - 1) {
        this.refused = true;
        this.paint();
      } else this.change(() => this.edits.flip('cuts', edge));
    }

    resetEdits() {
      this.change(() => this.edits.clear());
    }

    change(act) {
      act();
      this.refused = false;
      const { tokens, size } = this.game, read = edits => answer(this.model, tokens, edits, size);
      this.plain = read({});
      this.found = this.edits.any ? read(this.edits.lists(tokens.length - 1)) : this.plain;
      this.paint();
    }

    // ---- painting ----

    paint() {
      this.paintMenu();
      this.paintCards();
      this.paintAnswers();
      this.paintStrip();
      enable(this.backButton, this.game.canGoBack);
    }

    paintMenu() {
      const { at: epoch } = this.packed.checkpoints[this.choice.checkpoint];
      this.menu.value = this.choice.model;
      this.slider.value = this.choice.checkpoint;
      this.slider.ariaValueText = `epoch ${epoch}`;
      say(this.epoch, String(epoch));
    }

    paintCards() {
      const { game } = this, canRepeat = game.step === game.size || (game.step === game.size - 1 && !game.isOpen);
      const rule = canRepeat ? 'At the last step you may repeat an x.' : 'Pick any x that is still hidden.';
      say(this.stepLine, `Step ${game.step} of ${game.size}. ${game.isOver ? 'All steps are done.' : rule}`);
      this.cardOf.forEach(({ card, y }, i) => {
        const x = i + 1, isShown = game.shown.includes(x);
        say(y, `→ ${isShown ? game.permutation[i] : '?'}`);
        card.ariaLabel = `x = ${x}, ${isShown ? `goes with y = ${game.permutation[i]}` : 'its y is hidden'}`;
        card.ariaPressed = x === game.x;
        enable(card, game.mayAsk(x));
      });
      this.cardStop(this.cardOf[game.x - 1].card);
    }

    paintAnswers() {
      const { game, found, plain, edits } = this, { posterior } = game;
      say(this.networkKey, edits.any ? 'network, edited' : 'network');
      this.beforeKey.hidden = !edits.any;
      this.rowOf.forEach((row, i) => {
        for (const [name, value] of [['exact', posterior[i]], ['network', found.probabilities[i]]]) {
          row[name].style.width = `${100 * value}%`;
          say(row[`${name}Number`], share(value));
        }
        row.before.hidden = !edits.any;
        row.before.style.left = `${100 * plain.probabilities[i]}%`;
        this.paintGuess(row, i + 1, `exact ${share(posterior[i])}, network ${share(found.probabilities[i])}`);
      });
      this.guessStop();
      enable(this.show, game.isOpen);
      const who = edits.any ? 'With your edits the network' : 'The network';
      say(this.reading, this.refused ? REFUSED : unbroken(reading(game, found.probabilities, who)));
      say(this.outcome, game.isOpen ? '' : unbroken(outcome(game)));
      say(this.score, scoreLine(game.score));
    }

    paintGuess(row, y, numbers) {
      const { game } = this, isAnswer = !game.isOpen && y === game.answer, isGuess = game.round?.guess === y;
      const note = [isAnswer && 'answer', isGuess && 'your guess'].filter(Boolean).join(', ');
      say(row.note, note);
      row.line.classList.toggle('is-answer', isAnswer);
      row.guess.ariaLabel = `y = ${y}: ${numbers}${note && `; ${note}`}`;
      enable(row.guess, game.isOpen);
    }

    paintStrip() {
      const { tokens } = this.game, last = tokens.length - 1;
      const told = tokens.map((value, at) => `${at % 2 ? 'y' : 'x'} = ${value}`);
      this.tokenOf.forEach((token, at) => {
        token.hidden = at > last;
        token.classList.toggle('is-last', at === last);
        say(token, told[at] ?? '');
      });
      for (const row of this.headRows) {
        const isOn = this.paintSwitch(row.on), size = tokens.length ** 2;
        const pattern = this.found.cache[`pattern.${row.layer}`].subarray(row.head * size, (row.head + 1) * size);
        row.line.classList.toggle('is-off', !isOn);
        row.cells.forEach((cell, at) => {
          cell.cell.hidden = at > last;
          const edge = `${row.layer},${row.head},${at}`;
          if (at <= last) this.paintCell(cell, row, edge, pattern.at(at - last - 1), told[at]);
        });
        row.stop();
      }
      this.mlpSwitches.forEach(found => this.paintSwitch(found));
      enable(this.undo, this.edits.any);
    }

    paintCell({ cell, fill }, row, edge, attention, told) {
      const { cuts, heads } = this.edits, isCut = cuts.has(edge);
      const off = heads.has(`${row.layer},${row.head}`) ? ', head off' : '';
      fill.style.height = `${100 * attention}%`;
      cell.ariaPressed = isCut;
      cell.ariaLabel = `${row.name} to ${told}: ${isCut ? 'cut' : `attention ${share(attention)}`}${off}`;
      if (cell.matches(':hover, :focus')) say(this.readout, cell.ariaLabel);
    }

    paintSwitch({ node, state, isOn }) {
      node.ariaChecked = isOn();
      say(state, isOn() ? 'on' : 'off');
      return isOn();
    }
  }

  function mount() {
    for (const box of document.querySelectorAll('.recall-game:not(.is-live)')) {
      try {
        new View(box, JSON.parse(box.querySelector('.recall-game-data').textContent));
      } catch (error) {
        box.querySelector('.recall-game-without')?.replaceChildren(`The game cannot run here: ${error.message}.`);
        console.error('the game stays a still picture:', error);
      }
    }
  }

  return { mount, answer, model: (packed, index) => circuitDecoder.unpack(packed, index) };
})();
recallGame.mount();
