// Permutation recall, played against the network in the page. Mounts every `.recall-game` that is not live yet; where
// that fails the still stays. Defines `recallGame`.
globalThis.recallGame = (() => {
  'use strict';
  const { Game, answer, first, share, reading, question, outcome, scoreLine } = recallRules;
  const REFUSED = 'A head needs at least one edge. Switch the head off instead.';

  const { el, say, enable, button, toolbar } = pageParts('recall-game');
  const unbroken = text => text.replaceAll(' = ', '\u00a0=\u00a0'); // "y = 3" stays on one line

  class View {
    constructor(box, data) {
      Object.assign(this, { data, edits: new recallInside.Edits(), game: new Game(data) });
      this.choice = { model: 0, checkpoint: data.models[0].checkpoints.length - 1 };
      this.inside = new recallInside.Inside(this.game.size, this.edits, {
        flip: (kind, key) => this.change(() => this.edits.flip(kind, key)),
        cut: (layer, head, key) => this.cut(layer, head, key),
        undo: () => this.change(() => this.edits.clear()),
      });
      const parts = [this.networkMenu(), this.cards(), this.answers(), this.inside.part, this.dealing()];
      this.chosen(); // also the first paint: what cannot run throws here, before anything is shown
      box.append(el('div', 'live', ...parts));
      box.classList.add('is-live');
    }

    get packed() { return this.data.models[this.choice.model]; }

    networkMenu() {
      const options = this.data.models.map(({ label }, value) => el('option', '', { value }, label));
      this.menu = el('select', 'select', { onchange: () => this.choose(Number(this.menu.value)) }, ...options);
      this.epoch = el('span', 'epoch');
      this.slider = el('input', 'slider', { type: 'range', min: 0, step: 1, ariaLabel: 'Epoch of training' });
      this.slider.oninput = () => this.choose(this.choice.model, Number(this.slider.value));
      this.time = el('label', 'field', 'Epoch ', this.slider, this.epoch);
      return el('div', 'row', el('label', 'field', 'Network ', this.menu), this.time);
    }

    cards() {
      this.stepLine = el('p', 'step');
      const group = el('div', 'cards', { ariaLabel: 'Pick the next x' });
      this.cardStop = toolbar(group);
      this.cardOf = this.data.permutation.map((_, i) => {
        const y = el('span'), x = el('strong', '', `${i + 1}`);
        const card = button('card', () => this.go(() => this.game.ask(i + 1)), x, y);
        group.append(card);
        return { card, y };
      });
      return el('div', 'part', this.stepLine, group);
    }

    answers() {
      const key = (name, words) => el('span', 'key', el('i', `swatch ${name}`), words);
      this.networkKey = el('span');
      this.beforeKey = key('before', 'before your edits');
      this.legend = el('p', 'legend', key('exact', 'exact posterior'), key('network', this.networkKey), this.beforeKey);
      const group = el('div', 'bars', { ariaLabel: 'Guess the y' });
      this.guessStop = toolbar(group);
      this.rowOf = this.data.permutation.map((_, i) => this.answerRow(group, i + 1));
      [this.outcome, this.reading, this.score] = ['', '', 'score'].map(name => el('p', name));
      const status = el('div', 'status', { role: 'status' }, this.outcome, this.reading, this.score);
      this.show = button('button', () => this.reveal(), 'Show the answer');
      this.next = button('button', () => this.go(() => this.game.next()));
      return el('div', 'part', status, this.legend, group, el('div', 'row', this.next, this.show));
    }

    answerRow(group, y) {
      const row = { guess: button('guess', () => this.reveal(y), unbroken(`y = ${y}`)), note: el('span', 'note') };
      row.parts = ['exact', 'network'].flatMap(name => {
        row[name] = el('i', `bar ${name}`);
        row[`${name}Number`] = el('span', `number of-${name}`);
        return [el('span', `track of-${name}`, row[name]), row[`${name}Number`]];
      });
      row.before = el('i', 'before-edits');
      row.network.after(row.before);
      row.parts.push(row.note);
      row.line = el('div', 'answer', row.guess);
      group.append(row.line);
      return row;
    }

    dealing() {
      this.backButton = button('button', () => this.go(() => this.game.back()), 'Back one step');
      const deal = (name, words) => button('button', () => this.go(() => this.game[name]()), words);
      return el('div', 'row end', this.backButton, deal('fresh', 'New permutation'), deal('open', 'Opening position'));
    }

    choose(model, checkpoint) {
      const epoch = this.packed.checkpoints[this.choice.checkpoint].at, isOther = model !== this.choice.model;
      const { checkpoints } = this.data.models[model], same = checkpoints.findIndex(found => found.at === epoch);
      this.choice = { model, checkpoint: checkpoint ?? (same < 0 ? checkpoints.length - 1 : same) };
      if (isOther) this.chosen();
      else this.change();
    }

    // Another network: its parts are its own, so no edit is kept.
    chosen() {
      this.edits.clear();
      this.slider.max = this.packed.checkpoints.length - 1;
      this.time.hidden = this.packed.checkpoints.length < 2;
      this.inside.fill(this.packed.config);
      this.change();
    }

    // The network guesses as it was trained: no edit can win a round.
    reveal(guess) {
      if (!guess || this.game.mayGuess) this.change(() => this.game.reveal(guess, first(this.plain.probabilities)));
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

    change(act = () => {}) {
      act();
      this.refused = false;
      const model = circuitDecoder.unpack(this.packed, this.choice.checkpoint);
      const { tokens, size } = this.game, read = edits => answer(model, tokens, edits, size);
      this.plain = read({});
      this.found = this.edits.any ? read(this.edits.lists(tokens.length - 1)) : this.plain;
      this.paint();
    }

    // Painting: while a step is open, nothing that tells its answer is in the page.

    paint() {
      const { game, packed } = this, { at: epoch } = packed.checkpoints[this.choice.checkpoint];
      this.menu.value = this.choice.model;
      this.slider.value = this.choice.checkpoint;
      this.slider.ariaValueText = `epoch ${epoch}`;
      say(this.epoch, String(epoch));
      this.paintCards();
      this.paintAnswers();
      this.inside.paint(game.tokens, this.found.cache, !game.isOpen);
      enable(this.backButton, game.rounds.length);
      say(this.next, game.isDone ? 'Play again' : 'Next round');
      enable(this.next, game.isDone || !game.isOpen);
      enable(this.show, game.isOpen);
    }

    paintCards() {
      const { game } = this, pick = game.mayRepeat ? 'At the last step you may repeat an x.' : 'Pick any x still hidden.';
      say(this.stepLine, `Step ${game.step} of ${game.size}. ${game.isOver ? 'All steps are done.' : pick}`);
      this.cardOf.forEach(({ card, y }, i) => {
        const x = i + 1, isShown = game.shown.includes(x) && !(game.isOpen && x === game.x);
        say(y, `→ ${isShown ? game.permutation[i] : '?'}`);
        card.ariaLabel = `x = ${x}, ${isShown ? `goes with y = ${game.permutation[i]}` : 'its y is hidden'}`;
        card.ariaPressed = x === game.x;
        enable(card, game.mayAsk(x));
      });
      this.cardStop(this.cardOf[game.x - 1].card);
    }

    paintAnswers() {
      const { game, edits } = this, isSeen = !game.isOpen;
      say(this.networkKey, edits.any ? 'network, edited' : 'network');
      this.legend.hidden = !isSeen;
      this.beforeKey.hidden = !edits.any;
      this.rowOf.forEach((row, i) => {
        const shares = { exact: game.posterior[i], network: this.found.probabilities[i] }, y = i + 1;
        for (const [name, value] of Object.entries(shares)) {
          row[name].style.width = `${100 * value}%`;
          say(row[`${name}Number`], share(value));
        }
        row.before.hidden = !edits.any;
        row.before.style.left = `${100 * this.plain.probabilities[i]}%`;
        const isAnswer = isSeen && y === game.answer, isGuess = game.round?.guess === y;
        const note = [isAnswer && 'answer', isGuess && 'your guess'].filter(Boolean).join(', ');
        const [exact, network] = Object.values(shares).map(share);
        say(row.note, note);
        row.line.classList.toggle('is-answer', isAnswer);
        row.guess.ariaLabel = `y = ${y}${isSeen ? `: exact ${exact}, network ${network}${note && `; ${note}`}` : ''}`;
        enable(row.guess, game.mayGuess);
        if (isSeen) row.line.append(...row.parts);
        else row.parts.forEach(part => part.remove());
      });
      this.guessStop();
      const who = edits.any ? 'With your edits the network' : 'The network';
      const words = isSeen ? [outcome(game), reading(game, this.found.probabilities, who)] : [question(game), ''];
      say(this.outcome, unbroken(words[0]));
      say(this.reading, this.refused ? REFUSED : unbroken(words[1]));
      say(this.score, scoreLine(game) + (edits.any ? ' Your edits do not enter the score.' : ''));
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

  return { mount, answer, model: circuitDecoder.unpack };
})();
recallGame.mount();
