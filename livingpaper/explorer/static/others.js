// The same prompt, or row, in the first networks of a condition, small, beside each other. Defines `circuitOthers`.
globalThis.circuitOthers = (() => {
  'use strict';
  const { el, same, say, button, toolbar } = pageParts('explorer'), { svg } = circuitSvg;
  const { Layout, SMALL_ANSWER } = circuitLayout, { put, line, linkNode, inOrder } = circuitDrawing;
  const MOST = 10, AS_FAR = 0.05;
  const idle = globalThis.requestIdleCallback ?? setTimeout;

  // A circuit without words: ticks, and lines without heads.
  function small(layout) {
    const { circuit: { tokens, links, looks, answer } } = layout;
    const lineTo = (arrow, more) => line(layout, arrow, layout.ends(arrow)[1], more);
    const ticks = tokens.map(({ tone }, position) => {
      const [x, y] = layout.point(position, 0);
      return svg('rect', { class: `tick tone-${tone}`, x: x - 1.8, y: y + 0.6, width: 3.6, height: 3.6 });
    });
    const faint = svg('g', { class: 'looks tone-0' }, ...looks.map(arrow => lineTo(arrow, { opacity: 0.22 })));
    const [cx, cy] = layout.answer, dashed = { 'stroke-dasharray': '2 1.6', opacity: 0.6 };
    return [
      ...ticks, faint,
      ...inOrder(links).map(link => linkNode(link, arrow => lineTo(arrow, link.isSupported ? {} : dashed))),
      svg('circle', { class: `tick tone-${answer.tone}`, cx, cy, r: SMALL_ANSWER })];
  }

  class Others {
    #lab;
    #scene;
    #desk;
    #stills; // pictures of the first frame, where the page has them: they need no weights
    #first;
    #state;
    #asks;
    #isNear = false;
    #turn = 0;
    #row = el('div', 'others');
    #stop = toolbar(this.#row);
    #boxes = [];
    node;

    // desk: { lab, want(run), change(changes) }; `want` gives a promise, or null where the weights are here.
    // scene: { name, of(state), circuit({ run, step }, state), Layout }: what is asked, as text; what a network makes of it;
    // how that is laid out, if not as usual. `opening`: the state of the stills.
    constructor(desk, scene, opening, stills = []) {
      [this.#lab, this.#scene, this.#desk, this.#stills] = [desk.lab, scene, desk, stills];
      this.#first = this.#asked(opening);
      this.#row.ariaLabel = `The same ${scene.name} in other networks: press one to put it on the stage`;
      this.node = el('div', 'part', el('p', 'title', `The same ${scene.name}, other random starts`), this.#row);
      new IntersectionObserver(changes => {
        this.#isNear = changes.at(-1).isIntersecting;
        this.#paint();
      }, { rootMargin: '200px' }).observe(this.#row);
    }

    // What is drawn of a state: networks by seed, one question, as far through training.
    #asked(state) {
      const { condition, final } = this.#lab.run(state.run);
      const alike = this.#lab.runs.filter(one => one.condition === condition && !this.#lab.leftOut.includes(one.id));
      const runs = alike.sort((a, b) => a.seed - b.seed).slice(0, MOST).map(one => one.id);
      return { question: this.#scene.of(state), share: state.step / final, runs };
    }

    show(state) {
      const { runs } = this.#asks = this.#asked(state);
      this.#state = state;
      this.node.hidden = runs.length < 2;
      if (!same(this.#boxes.map(box => box.run.id), runs)) this.#make(runs.map(id => this.#lab.run(id)));
      for (const box of this.#boxes) box.node.ariaCurrent = box.run.id === state.run;
      this.#paint();
    }

    #make(runs) {
      this.#boxes = runs.map(run => {
        const picture = svg('svg', { 'aria-hidden': true, fill: 'currentColor' });
        const name = el('span', '', `seed ${run.seed}`), score = el('span', 'quiet');
        const room = el('span', 'picture', picture), act = () => this.#desk.change({ run: run.id, step: this.#stepOf(run) });
        room.classList.add('circuit');
        return { run, picture, name, score, painted: '', node: button('other', act, room, name, score) };
      });
      this.#row.replaceChildren(...this.#boxes.map(box => box.node));
      this.#stop();
    }

    // As far through training as the one on the stage, or as near to it as there is a checkpoint.
    #stepOf({ id, final }) { return this.#lab.nearest(id, this.#asks.share * final); }

    // One network in each idle moment, so that nothing a reader does has to wait.
    async #paint() {
      const turn = ++this.#turn;
      if (!this.#isNear || !this.#state) return;
      if (this.#stills.length === this.#boxes.length && same(this.#asks, this.#first)) {
        this.#boxes.forEach((box, i) => this.#takeOver(box, this.#stills[i]));
        return;
      }
      for (const box of this.#boxes) {
        const key = `${this.#stepOf(box.run)} ${this.#asks.question}`;
        if (box.painted === key) continue;
        try {
          await this.#desk.want(box.run.id);
          await new Promise(done => idle(done));
          if (turn !== this.#turn) return;
          this.#paintOne(box);
          box.painted = key;
        } catch { say(box.score, 'not here'); }
      }
    }

    #takeOver(box, still) {
      const { picture, name, score } = box;
      for (const given of ['viewBox', 'class']) picture.setAttribute(given, still.getAttribute(given));
      picture.replaceChildren(...still.cloneNode(true).children);
      [name, score].forEach((node, i) => say(node, still.parentElement.children[i + 1].textContent));
      box.painted = '';
    }

    #paintOne({ run, picture, name, score }) {
      const step = this.#stepOf(run), circuit = this.#scene.circuit({ run: run.id, step }, this.#state);
      const { links } = circuit, n = links.filter(one => one.isSupported).length;
      const layout = new (this.#scene.Layout ?? Layout)(n ? { ...circuit, looks: [] } : circuit, 'small');
      put(picture, layout, small(layout));
      const isApart = Math.abs(step / run.final - this.#asks.share) > AS_FAR;
      say(name, `seed ${run.seed}${isApart ? `, step ${step.toLocaleString('en-US')}` : ''}`);
      say(score, circuit.broken ? 'no chain' : links.length ? `${n} of ${links.length}` : 'not tested');
    }
  }

  return { Others };
})();
