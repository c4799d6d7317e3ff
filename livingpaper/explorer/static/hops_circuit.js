// Who fetches what from where on one row of vectors: the links that were tested of a network, as `circuitDrawing` draws
// them. Defines `hopsCircuit`.
globalThis.hopsCircuit = (() => {
  'use strict';
  const { attentionAlone, looking } = circuitMoves, { Layout } = circuitLayout;
  const FOLLOWED = 1, ANSWER = 2; // tones

  // The answer stands over the query that is followed, not over the last position.
  class RowLayout extends Layout {
    constructor(circuit, form) {
      super(circuit, form);
      if (!this.isTall) this.answer = [this.point(circuit.follow, circuit.layers)[0], this.answer[1]];
    }
  }

  // tests: [{ move, link: [query role, key role], heads, rise, other, isSupported }] of this network at this step.
  // `broken` says why no chain begins at the query, or where it ends too early.
  function circuitOn({ rows, moves, words, follow, tests, result, config, answers }) {
    const { at, symbols, broken } = rows.chain(words, follow), looks = looking(result, config, words.length);
    const links = tests.flatMap(test => {
      const [target, source] = test.link.map(role => at[role]), [, layer] = /^L(\d+)/.exec(test.heads[0]);
      if (source === undefined || target === undefined) return [];
      const weights = test.heads.map(head => looks[layer][Number(head.split('H')[1])](target, source));
      const weight = weights.reduce((sum, value) => sum + value, 0) / weights.length;
      const head = test.heads.length > 1 ? `${test.heads[0]}+${test.heads.slice(1).map(one => one.replace(/^L\d+/, '')).join('+')}` : test.heads[0];
      const arrows = [{ layer: Number(layer), source, target, weight, brings: words[source] }];
      return [{ ...test, move: moves[test.move], number: test.move + 1, head, arrows }];
    });
    const done = new Set(links.flatMap(({ arrows }) => arrows).map(a => `${a.layer} ${a.source} ${a.target}`));
    const tone = word => (symbols.at(-1) === word && symbols.length > 1 ? ANSWER : symbols.includes(word) ? FOLLOWED : 0);
    const last = answers.at(-1);
    return {
      layers: config.n_layers, links, follow, broken, looks: attentionAlone(looks, words.length, done, follow),
      tokens: words.map(word => ({ word, tone: tone(word) })),
      answer: { word: last.nearest, tone: ANSWER, probability: last.error, wanted: last.wanted },
    };
  }

  return { circuitOn, RowLayout };
})();
