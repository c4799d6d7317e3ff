// What the explorer computes, without the page: networks, prompts, edits -> numbers. Defines `circuitLab`; needs
// `circuitDecoder`. Of the opening's prompt Python has said what it is; what reads others, and edits, may come later.
globalThis.circuitLab = (() => {
  'use strict';
  const MOST_MODELS = 64; // unpacked checkpoints that are kept; about 20 MB at most
  const fail = sentence => { throw new Error(sentence); };

  // The most recent `limit` values by key.
  class Recent extends Map {
    constructor(limit) {
      super();
      this.limit = limit;
    }

    of(key, make) {
      if (!this.has(key)) {
        const value = make();
        if (this.size >= this.limit) this.delete(this.keys().next().value);
        this.set(key, value);
      }
      return this.get(key);
    }
  }

  function softmax(logits) {
    const top = Math.max(...logits), powers = Array.from(logits, value => Math.exp(value - top));
    const sum = powers.reduce((total, value) => total + value, 0);
    return powers.map(value => value / sum);
  }

  // The heads of a network.
  const headsOf = ({ n_layers: layers, n_heads: heads }) => Array.from({ length: layers * heads }, (_, i) => {
    const layer = Math.floor(i / heads), head = i % heads;
    return { name: `L${layer}H${head}`, layer, head };
  });

  class Lab {
    #packed = new Map();
    #models = new Recent(MOST_MODELS);
    edits = null; // of circuitEdited
    prompts = null; // circuitPrompt

    // leftOut: ids of runs whose weights are not to be had here.
    constructor({ task, runs, leftOut = [] }) { Object.assign(this, { task, runs, leftOut }); }

    run(id) { return this.runs.find(run => run.id === id) ?? fail(`there is no run ${id} here`); }

    // Births may be dated by several rules; '' is the first of each run.
    knowRule(rule) {
      const all = new Set(this.runs.flatMap(({ births }) => births.map(birth => birth.rule)));
      if (rule && !all.has(rule)) fail(`there is no rule ${rule} here`);
    }

    has(id) { return this.#packed.has(id); }

    // Whether a state can be read before `edits` and `prompts` are here.
    isPlain({ prompt, edits }) { return !edits.length && prompt === this.task.first?.prompt; }

    // A prompt -> { words, ids, form, answer }.
    #asked(text) {
      if (this.prompts) return this.prompts.read(this.task, text);
      const { vocab, forms, first: { form, answer } } = this.task, words = text.split(' ');
      return { words, ids: words.map(word => vocab.indexOf(word)), form: forms[form], answer };
    }

    // A network may have more tokens than the task has words.
    word(token) { return this.task.vocab[token] ?? `<unused ${token - this.task.vocab.length}>`; }

    add(id, packed) {
      if (!packed?.checkpoints?.length) fail(`the weights of run ${id} are damaged`);
      this.#packed.set(id, packed);
    }

    // What causal tests of a run say at a step: move -> { heads, effect, isSupported, found }, if any was made.
    testsAt(id, step) {
      const { tests, found } = this.run(id), at = Object.entries(tests[step] ?? {});
      return Object.fromEntries(at.map(([move, [heads, effect, isSupported]]) => {
        const all = heads.split(' '), [first, second] = all, head = second ? first.replace(/H.*/, 'H*') : first;
        return [move, { heads: all, head, effect, isSupported: Boolean(isSupported), found: found[move] }];
      }));
    }

    // The checkpoint nearest to a step.
    nearest(id, step) {
      return this.run(id).steps.reduce((best, at) => (Math.abs(at - step) < Math.abs(best - step) ? at : best));
    }

    model({ run, step }) {
      return this.#models.of(`${run} ${step}`, () => {
        const packed = this.#packed.get(run), index = packed.checkpoints.findIndex(({ at }) => at === step);
        if (index < 0) fail(`run ${run} has no weights at step ${step}`);
        try {
          return circuitDecoder.unpack(packed, index);
        } catch { return fail(`the weights of run ${run} at step ${step} are damaged`); }
      });
    }

    // One network at one checkpoint on the prompt of `state`, as it is and under the edits. `known`: the same without
    // edits, where it has been read.
    read(place, state, known = null) {
      const asked = this.#asked(state.prompt), model = this.model(place);
      const plain = known?.now.result ?? circuitDecoder.forward(model, asked.ids);
      const found = state.edits.length ? this.edits.forward(place, state, asked.ids) : plain;
      return { model, asked, before: this.#summary(model, asked, plain), now: this.#summary(model, asked, found) };
    }

    // Probabilities of every token at the last position, and the margin of the answer (without one: of the likeliest
    // answer word) over the likeliest other token; `overAnswers`: over the likeliest other answer word.
    #summary({ config }, { ids, answer }, result) {
      const size = config.d_vocab, logits = result.logits.subarray((ids.length - 1) * size, ids.length * size);
      const best = (tokens, without = -1) => tokens.reduce(
        (top, token) => (token !== without && (top < 0 || logits[token] > logits[top]) ? token : top), -1);
      const { answers, vocab } = this.task, target = answer === null ? best(answers) : vocab.indexOf(answer);
      const over = tokens => {
        const rival = best(tokens, target);
        return { rival, margin: logits[target] - logits[rival] };
      };
      const every = [...logits.keys()], top = best(every), overAnswers = over(answers);
      return { result, logits, probabilities: softmax(logits), target, top, ...over(every), overAnswers };
    }
  }

  // What a state shows: one network at a step, or two.
  const placesOf = state => (state.other ? [state, state.other] : [state]);

  return { Lab, Recent, headsOf, placesOf };
})();
