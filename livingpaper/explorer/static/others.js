// The same prompt in the first networks of a condition, small, beside each other. Defines `circuitOthers`.
globalThis.circuitOthers = (() => {
  'use strict';
  const { el, svg, say, button, toolbar } = pageParts('explorer'), { Layout } = circuitLayout, { draw } = circuitDrawing;
  const MOST = 10;
  const idle = globalThis.requestIdleCallback ?? setTimeout;

  class Others {
    #lab;
    #exhibit;
    #act;
    #state;
    #isNear = false;
    #turn = 0;
    #row = el('div', 'others', { ariaLabel: 'The same prompt in other networks: press one to put it on the stage' });
    #stop = toolbar(this.#row);
    #boxes = [];
    node = el('div', 'part', el('p', 'title', 'The same prompt, other random starts'), this.#row);

    // act: { want(run), show(run, step) }; `want` gives a promise, or null where the weights are here.
    constructor(lab, exhibit, act) {
      [this.#lab, this.#exhibit, this.#act] = [lab, exhibit, act];
      new IntersectionObserver(changes => {
        this.#isNear = changes.at(-1).isIntersecting;
        if (this.#isNear) this.#paint();
      }, { rootMargin: '200px' }).observe(this.#row);
    }

    show(state) {
      const { condition, final } = this.#lab.run(state.run);
      const runs = this.#lab.runs.filter(run => run.condition === condition && !this.#lab.leftOut.includes(run.id))
        .sort((a, b) => a.seed - b.seed).slice(0, MOST);
      const share = state.step / final;
      this.#state = { ...state, edits: [...state.edits] };
      this.node.hidden = runs.length < 2;
      const ids = runs.map(({ id }) => id).join(' ');
      if (ids !== this.#row.dataset.runs) {
        this.#row.dataset.runs = ids;
        this.#boxes = runs.map(run => {
          const picture = svg('svg', { 'aria-hidden': true, fill: 'currentColor' }), score = el('span', 'quiet');
          const node = button('other', () => this.#act.show(run.id, this.#stepOf(run)), `seed ${run.seed}`, score);
          const room = el('span', 'picture', picture);
          room.classList.add('circuit');
          node.prepend(room);
          return { run, node, picture, score };
        });
        this.#row.replaceChildren(...this.#boxes.map(({ node }) => node));
        this.#stop();
      }
      this.#state.share = share;
      for (const { run, node } of this.#boxes) node.ariaCurrent = run.id === state.run;
      if (this.#isNear) this.#paint();
    }

    // As far through training as the one on the stage.
    #stepOf({ id, final }) { return this.#lab.nearest(id, this.#state.share * final); }

    // One network in each idle moment, so that nothing a reader does has to wait.
    async #paint() {
      const turn = ++this.#turn;
      for (const box of this.#boxes) {
        try {
          await this.#act.want(box.run.id);
          await new Promise(done => idle(done));
          if (turn !== this.#turn) return;
          this.#paintOne(box);
        } catch { say(box.score, 'not here'); }
      }
    }

    #paintOne({ run, picture, score }) {
      const step = this.#stepOf(run), tests = this.#lab.testsAt(run.id, step);
      const reading = this.#lab.read({ run: run.id, step }, { ...this.#state, edits: [] });
      const circuit = circuitMoves.circuitOn(this.#exhibit, tests, reading, token => this.#lab.word(token));
      draw(picture, new Layout({ ...circuit, looks: circuit.links.length ? [] : circuit.looks }, 'small'), null);
      const { links } = circuit, n = links.filter(({ isSupported }) => isSupported).length;
      say(score, links.length ? `${n} of ${links.length}` : 'untested');
    }
  }

  return { Others };
})();
