// Permutation recall as a game, without the page: state, posterior, the network's answer, and sentences about them.
// Defines `recallRules`; needs `circuitDecoder`.
globalThis.recallRules = (() => {
  'use strict';

  // The pairs known so far lie in `asked` and `rounds`: round i asked x = asked[i] and showed its y. The last x asked
  // is open until its round is there. Values are 1..size; a y is also its place + 1 in arrays of probabilities.
  class Game {
    constructor(permutation, order) {
      this.deal(permutation, order);
    }

    // The x's of `order` are asked; all but the last are answered, by nobody's guess.
    deal(permutation, order) {
      this.permutation = permutation;
      this.asked = [...order];
      this.rounds = order.slice(1).map(() => ({}));
    }

    get size() { return this.permutation.length; }
    get step() { return this.asked.length; }
    get x() { return this.asked.at(-1); }
    get isOpen() { return this.rounds.length < this.asked.length; }
    get isOver() { return !this.isOpen && this.step === this.size; }
    get isRepeat() { return this.before.includes(this.x); }
    get before() { return this.asked.slice(0, -1); }
    get answer() { return this.permutation[this.x - 1]; }
    get round() { return this.rounds[this.step - 1]; }

    // Every x whose y is on the table.
    get shown() { return this.isOpen ? this.before : this.asked; }

    // What the network reads: x1 y1 ... xk.
    get tokens() {
      return [...this.before.flatMap(x => [x, this.permutation[x - 1]]), this.x];
    }

    // Which y's no pair before the current x has.
    get unused() {
      const used = this.before.map(x => this.permutation[x - 1]);
      return this.permutation.map((_, i) => i + 1).filter(y => !used.includes(y));
    }

    // Uniform over the permutations that fit the pairs before the current x.
    get posterior() {
      const fitting = this.isRepeat ? [this.answer] : this.unused;
      return this.permutation.map((_, i) => (fitting.includes(i + 1) ? 1 / fitting.length : 0));
    }

    // A new x, or at the last step any x.
    mayAsk(x) {
      const last = this.isOpen ? this.step === this.size : this.step === this.size - 1;
      return !this.isOver && (last || !this.shown.includes(x));
    }

    ask(x) {
      if (this.isOpen) this.asked.pop();
      this.asked.push(x);
    }

    // Show the y of the open x; `guess` may be missing.
    reveal(guess, network) {
      this.rounds.push({ guess, network });
    }

    get canGoBack() { return this.rounds.length > 0; }

    back() {
      if (this.isOpen) this.asked.pop();
      this.rounds.pop();
    }

    // How often the reader and the network were right, over the rounds in which the reader guessed.
    get score() {
      const guessed = this.rounds.map((round, i) => ({ ...round, answer: this.permutation[this.asked[i] - 1] }))
        .filter(({ guess }) => guess);
      const right = who => guessed.filter(round => round[who] === round.answer).length;
      return { rounds: guessed.length, reader: right('guess'), network: right('network') };
    }
  }

  function shuffled(size) {
    const values = Array.from({ length: size }, (_, i) => i + 1);
    for (let i = size - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [values[i], values[j]] = [values[j], values[i]];
    }
    return values;
  }

  // The network's answer at the last position: logits [d_vocab], probabilities of y = 1..size, and the whole cache.
  function answer(model, tokens, edits = {}, size = model.config.d_vocab - 1) {
    const { logits, cache } = circuitDecoder.forward(model, tokens, edits);
    const last = logits.slice(-model.config.d_vocab), valid = [...last.slice(1, size + 1)], top = Math.max(...valid);
    const weights = valid.map(logit => Math.exp(logit - top)), sum = weights.reduce((a, b) => a + b);
    return { logits: last, probabilities: weights.map(weight => weight / sum), cache };
  }

  const first = probabilities => probabilities.indexOf(Math.max(...probabilities)) + 1;

  // A share in words: three digits, and never a rounded 0 or 1.
  function share(p) {
    if (p > 0 && p < 0.0005) return '<0.001';
    return p < 1 && p >= 0.9995 ? '>0.999' : p.toFixed(3);
  }

  // What the network does with the current x, judged by where its probability lies.
  function reading(game, probabilities, who) {
    const mass = values => values.reduce((sum, y) => sum + probabilities[y - 1], 0);
    const { x, unused, answer: y } = game;
    if (!game.isRepeat) {
      const onUnused = mass(unused);
      if (!game.before.length) return `x = ${x} comes first: every y is possible.`;
      const { length } = unused;
      const left = length > 1 ? `one of the ${length} values not used yet` : `the value left, ${unused[0]}`;
      const onThese = `${who} puts ${share(onUnused)} on ${length > 1 ? 'these' : 'it'}`;
      const verdict = onUnused >= 0.9 ? 'it eliminates' : 'it does not eliminate well';
      return `x = ${x} is new: its y is ${left}. ${onThese}: ${verdict}.`;
    }
    const seen = `x = ${x} was shown before, with y = ${y}.`, recalled = probabilities[y - 1], left = mass(unused);
    if (recalled > 0.5) return `${seen} ${who} puts ${share(recalled)} on it: it recalls.`;
    const rest = unused.length > 1 ? 'values not used yet' : `the one value not used yet, ${unused[0]}`;
    if (left > 0.5) return `${seen} ${who} puts ${share(left)} on ${rest}: it eliminates, as if x = ${x} were new.`;
    const others = `${share(recalled)} on it, ${share(left)} on ${rest}, ${share(1 - recalled - left)} on other values`;
    return `${seen} ${who} puts ${others}: neither recall nor elimination.`;
  }

  // What the last round showed.
  function outcome(game) {
    const { guess, network } = game.round, { answer: y } = game;
    const judged = value => `${value} (${value === y ? 'right' : 'wrong'})`;
    const yours = guess ? ` You said ${judged(guess)}.` : '';
    const next = game.isOver ? 'This was the last step.' : 'Pick the next x.';
    return `x = ${game.x} goes with y = ${y}.${yours} The network’s first choice was ${judged(network)}. ${next}`;
  }

  function scoreLine({ rounds, reader, network }) {
    if (!rounds) return 'You have not guessed yet.';
    return `Right so far: you ${reader} of ${rounds}, the network ${network} of ${rounds}.`;
  }

  return { Game, shuffled, answer, first, share, reading, outcome, scoreLine };
})();
