// Rows of vectors, as livingpaper/explorer/vector_form.py describes them: symbols of several chains in blocks, each symbol
// a fresh vector, each position with a code of where it stands. Defines `vectorRows`.
// form: { chains: ['a', ...], blocks: [{ name, places: [1, 2], roles: ['key_1', 'value_1'] }], asked: [1, 2],
//   width, codes: [[...]], first: { words, vectors: { a0: [...] } } }
globalThis.vectorRows = (() => {
  'use strict';
  const fail = sentence => { throw new Error(sentence); };

  // Numbers in [0, 1) that a seed decides: the same draw for every reader.
  function uniform(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  function shuffled(list, next) {
    const all = [...list];
    for (let i = all.length - 1; i > 0; i--) {
      const j = Math.floor(next() * (i + 1));
      [all[i], all[j]] = [all[j], all[i]];
    }
    return all;
  }

  class Rows {
    #vectors = new Map(); // of the last seed that was asked for
    #seed = null;

    constructor(form) {
      Object.assign(this, form);
      this.spots = form.blocks.flatMap((block, at) => form.chains.flatMap(() =>
        block.roles.map((role, i) => ({ role, place: block.places[i], block: at, isFirst: i === 0 }))));
      this.length = this.spots.length;
      this.longest = Math.max(...form.blocks.flatMap(({ places }) => places));
      this.symbols = form.chains.flatMap(chain => Array.from({ length: this.longest + 1 }, (_, place) => chain + place));
    }

    // Positions at which chains are asked for: the last block.
    get queries() { return [...this.spots.keys()].filter(at => this.spots[at].block === this.blocks.length - 1); }

    // The words of a draw; draw 0 is the row that the page was made with.
    drawn(seed) {
      if (!seed) return [...this.first.words];
      const next = uniform(seed);
      return this.blocks.flatMap(({ places }) =>
        shuffled(this.chains, next).flatMap(chain => places.map(place => chain + place)));
    }

    // Symbol -> its numbers in that draw: normal, of variance 1.
    vectors(seed) {
      if (this.#seed === seed) return this.#vectors;
      const next = uniform(seed ^ 0x5bf03635);
      const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
      const drawn = word => (seed ? Array.from({ length: this.width }, normal) : this.first.vectors[word]);
      this.#vectors = new Map(this.symbols.map(word => [word, Float32Array.from(drawn(word))]));
      this.#seed = seed;
      return this.#vectors;
    }

    // Words of a text, or what is wrong with it, as a sentence.
    read(text) {
      const words = text.trim().split(/\s+/);
      if (words.length !== this.length) fail(`a row has ${this.length} symbols; here are ${words.length}`);
      const strange = words.find(word => !this.symbols.includes(word));
      if (strange) fail(`no symbol ${strange}; there are ${this.symbols[0]} to ${this.symbols.at(-1)}`);
      return words;
    }

    inputs(words, seed) {
      const vectors = this.vectors(seed);
      return words.map((word, at) => Float32Array.from([...vectors.get(word), ...this.codes[at]]));
    }

    // What follows the query that stands at a position, link by link: { at: role -> position, symbols: [x_0, x_1, ...] },
    // as far as one pair of each block says it; `broken` is a sentence where none or several do.
    chain(words, query) {
      const at = { [this.spots[query].role]: query }, symbols = [words[query]], place = this.spots[query].place;
      for (let k = place; k < this.longest; k++) {
        const isKey = spot => spot.isFirst && spot.place === k && spot.block !== this.spots[query].block;
        const keys = [...words.keys()].filter(i => isKey(this.spots[i]) && words[i] === symbols.at(-1));
        if (keys.length !== 1) {
          return { at, symbols, broken: `${keys.length ? 'Several pairs begin' : 'No pair begins'} with ${symbols.at(-1)}.` };
        }
        const [key] = keys;
        at[this.spots[key].role] = key;
        at[this.spots[key + 1].role] = key + 1;
        symbols.push(words[key + 1]);
      }
      return { at, symbols, broken: '' };
    }

    // What the network says at a query: for each place that is asked for { place, wanted, nearest, error }; the error is
    // the mean squared one of its numbers, the nearest is among the symbols of the row.
    answers(words, seed, query, outputs) {
      const { width, asked } = this, vectors = this.vectors(seed), { symbols } = this.chain(words, query);
      return asked.map((place, i) => {
        const start = (query * asked.length + i) * width, said = outputs.subarray(start, start + width);
        const gap = word => vectors.get(word).reduce((sum, value, c) => sum + (value - said[c]) ** 2, 0) / width;
        const nearest = [...new Set(words)].reduce((best, word) => (gap(word) < gap(best) ? word : best));
        const wanted = symbols[place] ?? null;
        return { place, wanted, nearest, error: wanted === null ? null : gap(wanted) };
      });
    }
  }

  return { Rows };
})();
