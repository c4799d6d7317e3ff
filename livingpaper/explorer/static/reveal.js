// Pairs of a hidden permutation, revealed one by one: the reader chooses what is asked and guesses; then what was to be
// known and what the network said stand beside each other, and the stage opens. Defines `circuitReveal`.
// It works with a desk: { lab, change(changes), edit(texts), repaint(), now() -> { state, readings } }.
globalThis.circuitReveal = (() => {
  'use strict';
  const { Game, among, first, share, reading, question, outcome, scoreLine } = circuitRevealRules;
  const { el, say, enable, button, toolbar } = pageParts('explorer'), { Looks } = circuitRevealLooks;
  const unbroken = text => text.replaceAll(' = ', '\u00a0=\u00a0'); // "y = 3" stays on one line

  class Form {
    #desk;
    #game;
    #tokens; // ids of 1..V
    #looks;
    #isFirst = true;
    #stepLine = el('p', 'title');
    #cards = el('div', 'cards');
    #cardStop = toolbar(this.#cards);
    #cardOf;
    #outcome = el('p');
    #reading = el('p');
    #score = el('p', 'title');
    #networkKey = el('span');
    #beforeKey = this.#key('before', 'before your edits');
    #legend = el('p', 'legend', this.#key('exact', 'exact posterior'), this.#key('bar', this.#networkKey), this.#beforeKey);
    #guesses = el('div', 'guesses');
    #guessStop = toolbar(this.#guesses);
    #rowOf;
    #show = button('button', () => this.#reveal(), 'Show the answer');
    #next = button('button', () => this.#go(game => game.next()));
    #back = button('button', () => this.#go(game => game.back()), 'Back one step');
    #restore = button('button', () => this.#desk.change({ edits: [] }), 'Undo all edits');
    rules;
    node;

    constructor({ form }, desk) {
      const game = this.#game = new Game(form), every = game.permutation.map((_, i) => i + 1);
      this.#desk = desk;
      this.#tokens = every.map(value => desk.lab.task.vocab.indexOf(String(value)));
      this.#cards.ariaLabel = `Pick the next ${game.keyName}`;
      this.#guesses.ariaLabel = `Guess the ${game.valueName}`;
      this.#cardOf = every.map(x => this.#card(x));
      this.#rowOf = every.map(y => this.#row(y));
      this.#looks = new Looks(game.size, (...edge) => desk.edit([editText.cut(...edge)]));
      const deal = (name, words) => button('button', () => this.#go(() => game[name]()), words);
      this.rules = el('p', '', form.rules);
      this.node = el('div', 'form',
        el('div', 'part revealing', this.#stepLine, this.#cards,
          el('div', 'status', { role: 'status' }, this.#outcome, this.#reading, this.#score),
          this.#legend, this.#guesses,
          el('div', 'row', this.#next, this.#show, this.#back, deal('fresh', 'New permutation'), deal('open', 'Opening position'))),
        this.#looks.node, el('div', 'row', this.#restore));
    }

    #key(name, ...words) { return el('span', 'key', el('i', `swatch ${name}`), ...words); }

    #card(x) {
      const y = el('span'), card = button('card', () => this.#go(game => game.ask(x)), el('strong', '', `${x}`), y);
      this.#cards.append(card);
      return { card, y };
    }

    #row(y) {
      const words = unbroken(this.#game.value(y)), note = el('span', 'note'), before = el('i', 'before');
      const row = { guess: button('guess', () => this.#reveal(y), words), note, before, bars: {}, parts: [] };
      for (const name of ['exact', 'network']) {
        const bar = el('i', name === 'exact' ? 'bar exact' : 'bar'), number = el('span', `number of-${name}`);
        row.bars[name] = { bar, number };
        row.parts.push(el('span', `share of-${name}`, bar, ...(name === 'exact' ? [] : [before])), number);
      }
      row.parts.push(note);
      row.line = el('div', 'answer', row.guess);
      this.#guesses.append(row.line);
      return row;
    }

    // The network guesses as it was trained: no edit can win a round.
    #reveal(guess) {
      const game = this.#game, [{ before }] = this.#desk.now().readings;
      if (guess && !game.mayGuess) return;
      game.reveal(guess, first(among(before.logits, this.#tokens)));
      this.#desk.repaint();
    }

    // A step of the game. Cuts belong to one position: they end when the last position is another.
    #go(act) {
      const game = this.#game, n = game.tokens.length, { edits } = this.#desk.now().state;
      act(game);
      const { tokens } = game, kept = tokens.length === n ? edits : edits.filter(text => !text.startsWith('cut'));
      this.#desk.change({ prompt: tokens.join(' '), edits: kept });
    }

    // Follows the state; whether what it asks is still open. While it is, nothing that tells the answer is in the page.
    show({ state, readings }) {
      const game = this.#game, tokens = readings[0].asked.words.map(Number), isEdited = state.edits.length > 0;
      if (String(tokens) !== String(game.tokens)) game.follow(tokens, this.#isFirst);
      this.#isFirst = false;
      const { before, now } = readings[0], [plain, found] = [before, now].map(({ logits }) => among(logits, this.#tokens));
      this.#showCards();
      this.#showRows(plain, found, isEdited);
      this.#showWords(found, isEdited);
      const told = tokens.map((word, at) => (at % 2 ? game.value(word) : game.key(word)));
      this.#looks.show(told, game.isOpen ? null : { state, readings });
      enable(this.#back, game.rounds.length);
      say(this.#next, game.isDone ? 'Play again' : 'Next round');
      enable(this.#next, game.isDone || !game.isOpen);
      enable(this.#show, game.isOpen);
      enable(this.#restore, isEdited);
      return game.isOpen;
    }

    #showCards() {
      const game = this.#game, { keyName, valueName } = game;
      const pick = game.mayRepeat ? `At the last step you may repeat an ${keyName}.` : `Pick any ${keyName} still hidden.`;
      say(this.#stepLine, `Step ${game.step} of ${game.size}. ${game.isOver ? 'All steps are done.' : pick}`);
      this.#cardOf.forEach(({ card, y }, i) => {
        const x = i + 1, isShown = game.shown.includes(x) && !(game.isOpen && x === game.x), partner = game.permutation[i];
        say(y, `→ ${isShown ? partner : '?'}`);
        card.ariaLabel = `${game.key(x)}, ${isShown ? `goes with ${game.value(partner)}` : `its ${valueName} is hidden`}`;
        card.ariaCurrent = x === game.x;
        enable(card, game.mayAsk(x));
      });
      this.#cardStop(this.#cardOf[game.x - 1].card);
    }

    #showRows(plain, found, isEdited) {
      const game = this.#game, isSeen = !game.isOpen, { posterior } = game;
      say(this.#networkKey, isEdited ? 'network, edited' : 'network');
      this.#legend.classList.toggle('is-kept', !isSeen);
      this.#beforeKey.hidden = !isEdited;
      this.#rowOf.forEach((row, i) => {
        const y = i + 1, shares = { exact: posterior[i], network: found[i] };
        const isAnswer = isSeen && y === game.answer, isGuess = game.round?.guess === y;
        const note = [isAnswer && 'answer', isGuess && 'your guess'].filter(Boolean).join(', ');
        for (const [name, { bar, number }] of Object.entries(row.bars)) {
          bar.style.width = `${100 * shares[name]}%`;
          say(number, share(shares[name]));
        }
        row.before.hidden = !isEdited;
        row.before.style.left = `${100 * plain[i]}%`;
        say(row.note, note);
        row.line.classList.toggle('is-answer', isAnswer);
        const [exact, network] = Object.values(shares).map(share), tail = note && `; ${note}`;
        row.guess.ariaLabel = game.value(y) + (isSeen ? `: exact ${exact}, network ${network}${tail}` : '');
        enable(row.guess, game.mayGuess);
        if (isSeen) row.line.append(...row.parts);
        else row.parts.forEach(part => part.remove());
      });
      this.#guessStop();
    }

    #showWords(found, isEdited) {
      const game = this.#game, who = isEdited ? 'With your edits the network' : 'The network';
      const words = game.isOpen ? [question(game), ''] : [outcome(game), reading(game, found, who)];
      [this.#outcome, this.#reading].forEach((node, i) => say(node, unbroken(words[i])));
      say(this.#score, scoreLine(game) + (isEdited ? ' Your edits do not enter the score.' : ''));
    }
  }

  return { Form };
})();
