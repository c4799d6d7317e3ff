// A permutation revealed pair by pair, without the page: state, posterior, and sentences about them and the network.
// Defines `circuitRevealRules`.
globalThis.circuitRevealRules = (() => {
  'use strict';
  const SPELT = ['', 'One', 'Two', 'Three', 'Four', 'Five', 'Six'];

  // The pairs known so far lie in `asked` and `rounds`: round i asked x = asked[i] and showed its y. The last x asked
  // is open until its round is there. Values are 1..size; a y is also its place + 1 in arrays of probabilities.
  // `scored` outlives a row: the guesses that count. None does in a row of which the reader has seen too much.
  class Game {
    constructor({ permutation, order, repeats, rounds: most = 5, names = ['x', 'y'] }) {
      Object.assign(this, { opening: [permutation, order], repeats, most });
      [this.key, this.value] = names.map(name => n => `${name} = ${n}`);
      [this.keyName, this.valueName] = names;
      this.scored = [];
      this.open();
    }

    // The x's of `order` are asked; all but the last are answered, by nobody's guess.
    deal(permutation, order, counts = true) {
      Object.assign(this, { permutation, asked: [...order], rounds: order.slice(1).map(() => ({})), counts });
    }

    open() { this.deal(...this.opening, !this.isOpeningKnown); }
    fresh() { this.deal(shuffled(this.size), [1]); }

    // A prompt from elsewhere: an address, a text field, an undone step. In the row at hand the reader
    // has seen more, but for one who comes with that address.
    follow(tokens, isFirst) {
      const { opening: [permutation, order], size } = this, known = Array(size).fill(0);
      const asked = tokens.filter((_, at) => at % 2 === 0);
      asked.slice(0, -1).forEach((x, i) => { known[x - 1] = tokens[2 * i + 1]; });
      const fits = all => known.every((y, i) => !y || y === all[i]);
      if (fits(permutation) && String(asked) === String(order)) this.open();
      else if (fits(this.permutation)) this.deal(this.permutation, asked, isFirst);
      else {
        const rest = shuffled(size).filter(y => !known.includes(y));
        this.deal(known.map(y => y || rest.pop()), asked);
      }
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

    // The y's of the permutations that fit the pairs before the current x, and the uniform posterior over them.
    get fitting() { return this.isRepeat ? [this.answer] : this.unused; }
    get posterior() {
      return this.permutation.map((_, i) => (this.fitting.includes(i + 1) ? 1 / this.fitting.length : 0));
    }

    // A new x, or at the last step any x.
    get mayRepeat() { return this.step === this.size - (this.isOpen ? 0 : 1); }
    mayAsk(x) { return this.mayRepeat || !this.isOver && !this.shown.includes(x); }

    ask(x) {
      if (this.isOpen) this.asked.pop();
      this.asked.push(x);
    }

    // The next step as the task draws it: its last x may come again. After five rounds, or a row, comes a new row.
    next() {
      if (this.isDone || this.isOver) this.deal(shuffled(this.size), []);
      if (this.isDone) this.scored = [];
      const again = this.step === this.size - 1 && Math.random() < this.repeats;
      this.ask(shuffled(this.size).find(x => this.asked.includes(x) === again));
    }

    get isDone() { return this.scored.length === this.most; }
    get mayGuess() { return this.isOpen && !this.isDone; }

    // Show the y of the open x, once. `guess` may be missing; `network` is what the network would have said.
    reveal(guess, network) {
      if (!this.isOpen) return;
      const { answer, fitting, permutation } = this, exact = fitting[0], chance = 1 / fitting.length;
      if (guess && this.counts && !this.isDone) this.scored.push({ guess, network, exact, answer, chance });
      this.rounds.push({ guess, network });
      this.isOpeningKnown ||= permutation === this.opening[0];
    }

    back() {
      if (this.isOpen) this.asked.pop();
      this.rounds.pop();
      this.counts = false;
    }
  }

  const shuffled = size => Array.from({ length: size }, (_, i) => [Math.random(), i + 1])
    .sort(([a], [b]) => a - b).map(([, value]) => value);

  // Probabilities of the tokens of 1..V among each other, of logits [d_vocab].
  function among(logits, tokens) {
    const own = tokens.map(token => logits[token]), top = Math.max(...own);
    const weights = own.map(logit => Math.exp(logit - top)), sum = weights.reduce((a, b) => a + b);
    return weights.map(weight => weight / sum);
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
    const { unused, answer: y, isRepeat, valueName: name } = game, asked = game.key(game.x), one = unused.length < 2;
    const recalled = mass([y]), left = mass(unused);
    if (!isRepeat) {
      if (!game.before.length) return `${asked} comes first: every ${name} is possible.`;
      const which = one ? `the value left, ${unused[0]}` : `one of the ${unused.length} values not used yet`;
      const verdict = `it ${left >= 0.9 ? 'eliminates' : 'does not eliminate well'}`;
      return `${asked} is new: its ${name} is ${which}. ${who} puts ${share(left)} on ${one ? 'it' : 'these'}: ${verdict}.`;
    }
    const seen = `${asked} was shown before, with ${game.value(y)}. ${who} puts`;
    if (recalled > 0.5) return `${seen} ${share(recalled)} on it: it recalls.`;
    const rest = one ? `the one value not used yet, ${unused[0]}` : 'values not used yet';
    if (left > 0.5) return `${seen} ${share(left)} on ${rest}: it eliminates, as if ${asked} were new.`;
    const others = `${share(recalled)} on it, ${share(left)} on ${rest}, ${share(1 - recalled - left)} on other values`;
    return `${seen} ${others}: neither recall nor elimination.`;
  }

  // What is asked, before anything tells the answer.
  function question({ x, key, valueName, isRepeat, isDone, counts, scored, most }) {
    const round = counts ? `Round ${scored.length + 1} of ${most}` : 'Not scored: you have seen more of this row';
    return `${key(x)}${isRepeat ? ' again' : ''}: which ${valueName}? ${isDone ? 'Play again to guess' : round}.`;
  }

  // Who was right in the last round.
  function outcome({ x, key, value, answer: y, fitting, isOver, round: { guess, network } }) {
    const judged = found => `${found} (${found === y ? 'right' : 'wrong'})`;
    const yours = guess ? ` You said ${judged(guess)}.` : '';
    const tie = fitting.length > 1 ? `, the smallest of ${fitting.length} that tie` : '';
    const theirs = `The network’s first choice was ${judged(network)}, the exact posterior’s ${judged(fitting[0])}${tie}.`;
    return `${key(x)} goes with ${value(y)}.${yours} ${theirs}${isOver ? ' This was the last step.' : ''}`;
  }

  function scoreLine({ scored, isDone, most }) {
    if (!scored.length) return 'You have not guessed yet.';
    const right = who => scored.filter(round => round[who] === round.answer).length, of = `of ${scored.length}`;
    const [you, network, exact] = ['guess', 'network', 'exact'].map(right);
    const all = `you ${you} ${of}, the network ${network} ${of}, the exact posterior ${exact} ${of}`;
    if (!isDone) return `Right so far: ${all}.`;
    const winner = ['The network beat you', 'You and the network are level', 'You beat the network'];
    const mean = scored.reduce((sum, { chance }) => sum + chance, 0).toFixed(1);
    const end = `${SPELT[most] ?? most} rounds are over. ${winner[1 + Math.sign(you - network)]}.`;
    return `${end} Right: ${all} (${mean} on average, ties drawn by lot).`;
  }

  return { Game, among, first, share, reading, question, outcome, scoreLine };
})();
