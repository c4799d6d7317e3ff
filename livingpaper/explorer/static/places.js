// Which network at which checkpoint: condition, seed, a slider over training, and what was measured on the way.
// Defines `circuitPlaces`.
globalThis.circuitPlaces = (() => {
  'use strict';
  const { el, same, say, button, fill, toolbar } = pageParts('explorer');
  const { Strip, rulesOf, number } = circuitStrip;
  const PAUSE = 700; // milliseconds a checkpoint stays while playing

  class Place {
    #lab;
    #choose;
    #at;
    #timer;
    #condition = el('select', '', { onchange: () => this.#pickRun() });
    #seed = el('select', '', { onchange: () => this.#pickRun(this.#seed.value) });
    #seedField = el('label', 'field', 'Seed ', this.#seed);
    #player = button('button', () => (this.#timer ? this.#stop() : this.#play()), 'Play');
    #time = el('span', 'time');
    #slider = el('input', 'slider', {
      type: 'range', min: 0, step: 1, oninput: () => this.#go({ step: Number(this.#slider.value) }),
      onkeydown: event => this.#key(event),
    });
    #ticks = el('datalist', '', { id: `explorer-ticks-${Math.random().toString(36).slice(2)}` });
    #strip = new Strip();
    #rules = el('div', 'row', { ariaLabel: 'What counts as born' });
    #ruleStop = toolbar(this.#rules);
    #ruleLine = el('div', 'row rules', el('span', 'quiet', 'Births by'), this.#rules);

    // choose({ run, step }), or of another step only choose({ step }), is called when the reader wants another place:
    // the checkpoint nearest to that step. choose({ rule }) when births are to be dated by another rule.
    constructor(lab, name, choose) {
      [this.#lab, this.#choose] = [lab, choose];
      this.#slider.ariaLabel = `Step of training, ${name}`;
      this.#slider.setAttribute('list', this.#ticks.id);
      const condition = el('label', 'field', 'Condition ', this.#condition);
      this.node = el('div', 'place', { role: 'group', ariaLabel: name },
        el('div', 'row', condition, this.#seedField, this.#player, this.#time),
        this.#slider, this.#ticks, this.#strip.node, this.#ruleLine);
      fill(this.#condition, this.#options(lab.runs, 'condition'));
      condition.hidden = this.#condition.length < 2;
    }

    #isHere(run) { return !this.#lab.leftOut.includes(run.id); }

    // A menu of what some runs differ in, as it is told where none of them can be shown.
    #options(runs, field) {
      return [...new Set(runs.map(run => String(run[field])))].map(value => {
        const isHere = runs.some(run => String(run[field]) === value && this.#isHere(run));
        return [value, isHere ? value : `${value}, not in this file`];
      });
    }

    get #run() { return this.#lab.run(this.#at.run); }

    // As far through training as before.
    #pickRun(seed) {
      const runs = this.#lab.runs.filter(({ condition }) => condition === this.#condition.value);
      const run = runs.find(found => String(found.seed) === seed) ?? runs.find(found => this.#isHere(found)) ?? runs[0];
      this.#go({ run: run.id, step: this.#at.step / this.#run.final * run.final });
    }

    #go(at) {
      this.#stop();
      this.#choose(at);
    }

    // Arrows go from checkpoint to checkpoint; in between there are no weights.
    #key(event) {
      const { steps } = this.#run, now = steps.indexOf(this.#at.step), last = steps.length - 1;
      const on = now + 1, back = now - 1;
      const to = {
        ArrowRight: on, ArrowUp: on, PageUp: on, ArrowLeft: back, ArrowDown: back, PageDown: back, Home: 0, End: last,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.#go({ step: steps[Math.min(Math.max(to, 0), last)] });
    }

    #play() {
      const { steps } = this.#run;
      let next = (steps.indexOf(this.#at.step) + 1) % steps.length;
      say(this.#player, 'Stop');
      this.#timer = setInterval(() => {
        if (!this.node.isConnected || next >= steps.length) this.#stop();
        else this.#choose({ step: steps[next++] });
      }, PAUSE);
    }

    #stop() {
      clearInterval(this.#timer);
      this.#timer = null;
      say(this.#player, 'Play');
    }

    // The rule by which births are dated, and a switch to the others of this network.
    #showRules(asked) {
      const rules = rulesOf(this.#run), rule = rules.includes(asked) ? asked : rules[0] ?? '';
      if (!same([...this.#rules.children].map(node => node.textContent), rules)) {
        const nodes = rules.map((words, i) => button('rule', () => this.#choose({ rule: i ? words : '' }), words));
        this.#rules.replaceChildren(...nodes);
      }
      for (const node of this.#rules.children) node.ariaCurrent = node.textContent === rule;
      this.#ruleLine.hidden = rules.length < 2;
      if (rules.length > 1) this.#ruleStop();
      return rule;
    }

    show(at, rule) {
      const isOther = at.run !== this.#at?.run;
      this.#at = at;
      const { condition, seed, steps, epochs, final } = this.#run, isOne = steps.length < 2;
      const runs = this.#lab.runs.filter(run => run.condition === condition);
      if (isOther) {
        fill(this.#seed, this.#options(runs, 'seed'));
        this.#ticks.replaceChildren(...steps.map(value => el('option', '', { value })));
      }
      this.#seedField.hidden = runs.length < 2;
      this.#player.hidden = this.#slider.hidden = isOne;
      this.#condition.value = condition;
      this.#seed.value = seed;
      const epoch = epochs.length ? `, epoch ${epochs[steps.indexOf(at.step)]}` : ''; // none where rows are always fresh
      const when = `step ${number(at.step)} of ${number(final)}${epoch}`;
      Object.assign(this.#slider, { max: final, value: at.step, ariaValueText: when });
      say(this.#time, `${when}${isOne ? ' (the only one here)' : ''}`);
      this.#strip.show(this.#run, at.step, this.#showRules(rule));
    }
  }

  return { Place };
})();
