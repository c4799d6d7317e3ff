// Which network at which checkpoint: condition, seed, a slider over training, and what was measured on the way.
// Defines `circuitPlaces`.
globalThis.circuitPlaces = (() => {
  'use strict';
  const { el, mark, say, button } = pageParts('explorer'), { Strip, number } = circuitStrip;
  const PAUSE = 700; // milliseconds a checkpoint stays while playing

  const options = (select, values) => select.replaceChildren(...values.map(value => el('option', '', { value, textContent: value })));

  class Place {
    // choose({ run, step }) is called when the reader wants another place.
    constructor(lab, name, choose) {
      Object.assign(this, { lab, choose });
      this.condition = el('select', '', { onchange: () => this.pickRun(this.condition.value) });
      this.seed = el('select', '', { onchange: () => this.pickRun(this.condition.value, this.seed.value) });
      this.slider = el('input', 'slider', { type: 'range', min: 0, step: 1, aria: { label: `Step of training, ${name}` } });
      this.slider.oninput = () => this.goTo(this.lab.nearest(this.run.id, Number(this.slider.value)));
      this.slider.onkeydown = event => this.key(event);
      this.time = el('span', 'time');
      this.player = button('button', () => (this.timer ? this.stop() : this.play()), { textContent: 'Play' });
      this.ticks = el('datalist', '', { id: `explorer-ticks-${Math.random().toString(36).slice(2)}` });
      this.slider.setAttribute('list', this.ticks.id);
      this.strip = new Strip();
      this.legend = el('p', 'legend');
      const field = (words, control) => el('label', 'field', {}, words, control);
      this.seedField = field('Seed ', this.seed);
      this.node = el('div', 'place', { aria: { role: 'group', label: name } },
        el('div', 'row', {}, field('Condition ', this.condition), this.seedField, this.player, this.time),
        this.slider, this.ticks, this.strip.node, this.legend);
      options(this.condition, [...new Set(lab.runs.map(({ condition }) => condition))]);
    }

    get run() { return this.lab.run(this.at.run); }

    pickRun(condition, seed) {
      const runs = this.lab.runs.filter(run => run.condition === condition);
      const run = runs.find(found => String(found.seed) === seed) ?? runs[0], share = this.at.step / this.run.final;
      this.go(run.id, this.lab.nearest(run.id, share * run.final));
    }

    goTo(step) { this.go(this.run.id, step); }

    go(run, step) {
      this.stop();
      this.choose({ run, step });
    }

    // Arrows go from checkpoint to checkpoint; in between there are no weights.
    key(event) {
      const { steps } = this.run, now = steps.indexOf(this.at.step), last = steps.length - 1;
      const to = { ArrowRight: now + 1, ArrowUp: now + 1, PageUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, PageDown: now - 1, Home: 0, End: last };
      if (!(event.key in to)) return;
      event.preventDefault();
      this.goTo(steps[Math.min(Math.max(to[event.key], 0), last)]);
    }

    play() {
      const { steps } = this.run;
      let next = steps.indexOf(this.at.step) === steps.length - 1 ? 0 : steps.indexOf(this.at.step) + 1;
      say(this.player, 'Stop');
      this.timer = setInterval(() => {
        if (!this.node.isConnected || next >= steps.length) this.stop();
        else this.choose({ run: this.at.run, step: steps[next++] });
      }, PAUSE);
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      say(this.player, 'Play');
    }

    show(at) {
      const isOther = at.run !== this.at?.run;
      this.at = at;
      const { run } = this, runs = this.lab.runs.filter(({ condition }) => condition === run.condition);
      if (isOther) {
        options(this.seed, runs.map(({ seed }) => seed));
        this.ticks.replaceChildren(...run.steps.map(value => el('option', '', { value })));
        this.legend.replaceChildren(...run.curves.map(({ label }, i) => el('span', 'key', {}, Strip.key(i), label)));
        this.legend.append(el('span', 'quiet', { textContent: run.curves.length ? `0 to 1${run.curves.some(({ chance }) => chance) ? ', grey: chance' : ''}` : '' }));
      }
      this.seedField.hidden = runs.length < 2;
      this.player.hidden = this.slider.hidden = run.steps.length < 2;
      Object.assign(this.condition, { value: run.condition });
      this.seed.value = run.seed;
      Object.assign(this.slider, { max: run.final, value: at.step });
      const epoch = run.epochs[run.steps.indexOf(at.step)], when = `step ${number(at.step)} of ${number(run.final)}, epoch ${epoch}`;
      mark(this.slider, 'valuetext', when);
      say(this.time, `${when}${run.steps.length < 2 ? ' (the one checkpoint that is here)' : ''}`);
      this.strip.show(run, at.step);
    }
  }

  return { Place };
})();
