// One network at one checkpoint on the prompt: answers, attention, and what each part adds. Defines `circuitPane`.
globalThis.circuitPane = (() => {
  'use strict';
  const { el, say } = pageParts('explorer'), { HeadMap, share } = circuitHeadMap;
  const MOST_ANSWERS = 6;
  const signed = value => `${value < 0 ? '\u2212' : '+'}${Math.abs(value).toFixed(2)}`;

  function table(caption, headings, rows) {
    const head = el('tr', '', {}, ...headings.map(words => el('th', '', { scope: 'col', textContent: words })));
    return el('table', '', {}, el('caption', '', { textContent: caption }), el('thead', '', {}, head), el('tbody', '', {}, ...rows));
  }

  const named = words => el('th', '', { scope: 'row', textContent: words });
  const cell = text => el('td', 'number', { textContent: text });

  // A bar of a share between 0 and 1, with a mark where it was before the edits.
  function bar(value, before = null) {
    const fill = el('i', 'bar'), track = el('td', 'track', {}, el('span', '', {}, fill));
    fill.style.width = `${100 * value}%`;
    if (before !== null) {
      const mark = el('i', 'before');
      mark.style.left = `${100 * before}%`;
      track.firstChild.append(mark);
    }
    return track;
  }

  // A bar from the middle, to the right where the value is positive.
  function balance(value, most) {
    const fill = el('i', value < 0 ? 'bar minus' : 'bar plus'), width = (50 * Math.abs(value)) / (most || 1);
    fill.style.width = `${width}%`;
    fill.style.left = `${value < 0 ? 50 - width : 50}%`;
    return el('td', 'track middle', {}, el('span', '', {}, fill));
  }

  class Pane {
    constructor({ cut }) {
      this.cut = cut;
      this.title = el('p', 'title');
      this.answers = el('div');
      this.margin = el('p', 'margin', { aria: { role: 'status' } });
      this.maps = el('div', 'maps');
      this.readout = el('p', 'readout', { aria: { live: 'polite' } });
      this.parts = el('div');
      this.node = el('div', 'pane', {}, this.title, this.answers, this.margin, this.maps, this.readout, this.parts);
      this.heads = [];
      new ResizeObserver(() => this.redraw()).observe(this.maps);
    }

    redraw() { this.heads.forEach(({ map }) => map.words && map.draw()); }

    // reading: of lab.read; cuts: Map of head -> Set of "query,key"; isEdited: whether there is a "before".
    show(title, lab, reading, { cuts, isEdited }) {
      say(this.title, title);
      this.title.hidden = !title;
      this.showAnswers(lab, reading, isEdited);
      this.showMaps(reading, cuts);
      this.showParts(lab, reading);
    }

    showAnswers({ task }, { asked, before, now }, isEdited) {
      const order = now.probabilities.map((p, token) => [p, token]).sort((a, b) => b[0] - a[0]).map(([, token]) => token);
      const known = asked.answer !== null, top = order.slice(0, MOST_ANSWERS);
      if (known && !top.includes(now.target)) top.splice(-1, 1, now.target);
      const rows = top.map(token => {
        const word = named(task.vocab[token]), p = now.probabilities[token];
        if (known && token === now.target) word.append(el('span', 'right', { textContent: ' answer' }));
        return el('tr', '', {}, word, bar(p, isEdited ? before.probabilities[token] : null), cell(share(p)), cell(now.logits[token].toFixed(2)));
      });
      const caption = `The next token. ${isEdited ? 'Marks: before the edits.' : ''}`;
      this.answers.replaceChildren(table(caption, ['token', 'probability', '', 'logit'], rows));
      const words = `${known ? 'Answer' : 'No answer is determined; likeliest'} ${task.vocab[now.target]}: ` +
        `margin ${signed(now.margin)} over ${task.vocab[now.rival]}`;
      say(this.margin, isEdited ? `${words} (before the edits ${signed(before.margin)}).` : `${words}.`);
    }

    showMaps({ model, asked, now }, cuts) {
      const { n_layers: layers, n_heads: heads } = model.config, n = asked.ids.length, roles = circuitPrompt.roles(asked.form, n);
      if (this.heads.length !== layers * heads) this.makeMaps(layers, heads);
      for (const { map, layer, head, name } of this.heads) {
        const pattern = now.result.cache[`pattern.${layer}`].subarray(head * n * n, (head + 1) * n * n);
        map.show(asked.words, roles, pattern, cuts.get(name) ?? new Set());
      }
    }

    makeMaps(layers, heads) {
      this.heads = Array.from({ length: layers * heads }, (_, i) => {
        const [layer, head] = [Math.floor(i / heads), i % heads], name = `L${layer}H${head}`;
        const map = new HeadMap(name, { tell: text => say(this.readout, `${text}. Press to cut or restore.`), cut: (...edge) => this.cut(name, ...edge) });
        return { layer, head, name, map };
      });
      this.maps.replaceChildren(...this.heads.map(({ name, map }) => el('figure', 'map', {}, el('figcaption', '', { textContent: name }), map.canvas)));
      say(this.readout, 'Attention: rows read, columns are read; dark 0, yellow 1. Point at a square for its number, press it to cut that edge.');
    }

    showParts(lab, reading) {
      const { target, rival, margin } = reading.now, [a, b] = [target, rival].map(token => lab.task.vocab[token]);
      let found;
      try {
        found = lab.attribution(reading);
      } catch (error) {
        this.parts.replaceChildren(el('p', 'quiet', { textContent: `No direct logit attribution here: ${error.message}.` }));
        return;
      }
      const most = Math.max(...found.map(({ value }) => Math.abs(value))), sum = found.reduce((total, { value }) => total + value, 0);
      const rows = found.map(({ part, value }) => el('tr', '', {}, named(part), balance(value, most), cell(signed(value))));
      const rest = Math.abs(margin - sum) < 0.005 ? '' : `, biases ${signed(margin - sum)}`;
      const caption = `Direct logit attribution: what each part adds to ${a} over ${b}. Sum ${signed(sum)}${rest}.`;
      this.parts.replaceChildren(table(caption, ['part', 'share of the margin', ''], rows));
    }
  }

  return { Pane, table, named, cell, bar, signed, share };
})();
