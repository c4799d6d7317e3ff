// One network at one checkpoint on the prompt: answers, attention, and what each part adds. Defines `circuitPane`.
globalThis.circuitPane = (() => {
  'use strict';
  const { el, same, say } = pageParts('explorer'), { HeadMap, share } = circuitHeadMap, { headsOf } = circuitLab;
  const { cell, likeliest } = circuitBars, { table, named } = circuitTables;
  const MOST_ANSWERS = 6, MOST_SUBSETS = 64;
  const signed = value => `${value < 0 ? '\u2212' : '+'}${Math.abs(value).toFixed(2)}`;

  // A bar from the middle, to the right where the value is positive.
  function balance(value, most) {
    const fill = el('i', value < 0 ? 'bar minus' : 'bar plus'), width = (50 * Math.abs(value)) / (most || 1);
    fill.style.width = `${width}%`;
    fill.style.left = `${value < 0 ? 50 - width : 50}%`;
    return el('td', 'track middle', el('span', '', fill));
  }

  // Every set of heads switched off together (with the edits of `state` in place): the margin and the answer's
  // probability. Of a network with too many heads, single heads and pairs.
  function subsets(lab, place, state) {
    const all = headsOf(lab.run(place.run).config).map(({ name }) => name);
    const chosen = 2 ** all.length <= MOST_SUBSETS
      ? Array.from({ length: 2 ** all.length }, (_, bits) => all.filter((_, i) => bits & (1 << i)))
      : [[], ...all.map(head => [head]), ...all.flatMap((a, i) => all.slice(i + 1).map(b => [a, b]))];
    const known = lab.read(place, { ...state, edits: [] });
    return chosen.map(off => {
      const edits = [...state.edits, ...off.map(editText.zero)];
      const { now } = lab.read(place, { ...state, edits }, known);
      return { off, margin: now.margin, probability: now.probabilities[now.target], says: now.top };
    });
  }

  // cut(head, query, key) is called when the reader presses an edge.
  class Pane {
    #lab;
    #cut;
    #title = el('p', 'title');
    #answers = el('div');
    #margin = el('strong');
    #overAnswers = el('span');
    #margins = el('p', 'margin', { role: 'status' }, this.#margin, ' ', this.#overAnswers);
    #maps = el('div', 'maps');
    #readout = el('p', 'readout', { ariaLive: 'polite' });
    #parts = el('div');
    #heads = []; // as headsOf has them, with their maps
    node = el('div', 'pane', this.#title, this.#answers, this.#margins, this.#maps, this.#readout, this.#parts);

    constructor(lab, cut) {
      [this.#lab, this.#cut] = [lab, cut];
      new ResizeObserver(() => this.#heads.forEach(({ map }) => map.draw())).observe(this.#maps);
    }

    // reading: of lab.read; cuts: Map of head -> Set of "query,key"; isEdited: whether there is a "before".
    show(title, reading, cuts, isEdited) {
      say(this.#title, title);
      this.#title.hidden = !title;
      this.#showAnswers(reading, isEdited);
      this.#showMaps(reading, cuts);
      this.#showParts(reading);
    }

    #showAnswers(reading, isEdited) {
      const lab = this.#lab, { asked, before, now } = reading, known = asked.answer !== null;
      const rows = likeliest(lab, reading, MOST_ANSWERS, isEdited, token =>
        [share(now.probabilities[token]), now.logits[token].toFixed(2)]);
      const caption = `The next token. ${isEdited ? 'Marks: before the edits.' : ''}`;
      this.#answers.replaceChildren(table(caption, ['token', 'probability', '', 'logit'], rows));
      const name = `${known ? 'Answer' : 'No answer is determined; likeliest answer word'} ${lab.word(now.target)}`;
      const over = ({ margin, rival }, was) =>
        `${signed(margin)} over ${lab.word(rival)}${isEdited ? ` (before the edits ${signed(was.margin)})` : ''}.`;
      say(this.#margin, `${name}: margin ${over(now, before)}`);
      say(this.#overAnswers, `Margin over answer words ${over(now.overAnswers, before.overAnswers)}`);
    }

    #showMaps({ model, asked, now }, cuts) {
      const heads = headsOf(model.config), n = asked.ids.length, roles = circuitPrompt.roles(asked.form, n);
      if (!same(heads.map(({ name }) => name), this.#heads.map(({ name }) => name))) this.#makeMaps(heads);
      for (const { map, layer, head, name } of this.#heads) {
        const pattern = now.result.cache[`pattern.${layer}`].subarray(head * n * n, (head + 1) * n * n);
        map.show(asked.words, roles, pattern, cuts.get(name) ?? new Set());
      }
    }

    #makeMaps(heads) {
      const tell = text => say(this.#readout, `${text}. Press to cut or restore.`);
      this.#heads = heads.map(head => ({
        ...head, map: new HeadMap(head.name, tell, (...edge) => this.#cut(head.name, ...edge)),
      }));
      this.#maps.replaceChildren(
        ...this.#heads.map(({ name, map }) => el('figure', 'map', el('figcaption', '', name), map.canvas)));
      say(this.#readout, 'Attention: rows read, columns are read; dark 0, yellow 1. Point at a square for its number, '
        + 'press it to cut that edge.');
    }

    #showParts(reading) {
      const { target, rival, margin } = reading.now, [a, b] = [target, rival].map(token => this.#lab.word(token));
      let found;
      try {
        found = circuitAttribution.ofMargin(reading);
      } catch (error) {
        this.#parts.replaceChildren(el('p', 'quiet', `No direct logit attribution here: ${error.message}.`));
        return;
      }
      const values = found.map(({ value }) => value), sum = values.reduce((total, value) => total + value, 0);
      const most = Math.max(...values.map(Math.abs));
      const rows = found.map(({ part, value }) => el('tr', '', named(part), balance(value, most), cell(signed(value))));
      const rest = Math.abs(margin - sum) < 0.005 ? '' : `, biases ${signed(margin - sum)}`;
      const caption = `Direct logit attribution: what each part adds to ${a} over ${b}. Sum ${signed(sum)}${rest}.`;
      this.#parts.replaceChildren(table(caption, ['part', 'share of the margin (logits)', ''], rows));
    }
  }

  return { Pane, signed, share, subsets };
})();
