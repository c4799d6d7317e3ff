// Mounts every `.explorer` of a page that is not live yet: the widget's module, with a stand-in for its model, where no
// kernel runs. Weights are classic scripts below `_static/explorer`, or texts inside the page; both work from file://.
// They come as text, and are used only if it has the hash that the page was built with. Needs `paperSha256`.
(() => {
  'use strict';

  // Weights scripts call this; whoever asked for that run gets the text, or what went wrong. One for all explorers of a
  // page: each brings this script along.
  globalThis.paperWeights ??= (run, text, error) => {
    const { wanted } = paperWeights, tellers = wanted.get(run);
    wanted.delete(run);
    tellers?.forEach(tell => tell(text, error));
  };
  const wanted = (paperWeights.wanted ??= new Map());

  function load(run, tell) {
    const isComing = wanted.has(run);
    wanted.set(run, [...(wanted.get(run) ?? []), tell]);
    if (isComing) return;
    const script = document.createElement('script');
    const fail = words => paperWeights(run, '', `the weights of run ${run} ${words}`);
    const inside = document.querySelector(`script.explorer-weights[data-run="${CSS.escape(run)}"]`);
    if (inside) script.textContent = inside.textContent;
    else {
      const root = document.documentElement.dataset.content_root ?? './';
      script.src = `${root}_static/explorer/${encodeURIComponent(run)}.js`;
    }
    script.onload = () => wanted.has(run) && fail('are damaged');
    script.onerror = () => fail('are not here');
    document.head.append(script);
    if (inside && wanted.has(run)) fail('are damaged');
  }

  // What the explorer gets: the weights in a text that is the one the page was built with, or an error.
  async function opened(run, expected, text, error) {
    if (error) return { run, error };
    const isSame = typeof text === 'string' && await paperSha256(text) === expected;
    return isSame ? { run, packed: JSON.parse(text) }
      : { run, error: `the weights of run ${run} are damaged: they are not those that this page was built with` };
  }

  class Model {
    #values;
    #listeners = new Map();
    constructor(values) { this.#values = values; }
    get(name) { return this.#values[name]; }
    set(name, value) {
      this.#values[name] = value;
      this.#tell(`change:${name}`, this, value);
    }
    save_changes() {}
    on(names, listener) {
      for (const name of names.split(' ')) this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
    }
    off(names, listener) {
      for (const name of names.split(' ')) {
        this.#listeners.set(name, (this.#listeners.get(name) ?? []).filter(other => other !== listener));
      }
    }
    // Answers at once where the weights are inside the page, else later.
    send({ want }) {
      const { runs, leftOut } = this.#values.exhibit, tell = message => this.#tell('msg:custom', message);
      const { sha256 } = runs.find(({ id }) => id === want);
      if (!leftOut.includes(want)) {
        load(want, async (text, error) => tell(await opened(want, sha256, text, error)));
        return;
      }
      const room = `${runs.length - leftOut.length} of ${runs.length} networks`;
      const error = `the weights of run ${want} are not in this file, which has room for ${room}; `
        + `in Jupyter, Explorer("${want}") shows it`;
      tell({ run: want, error });
    }
    #tell(name, ...what) { for (const listener of this.#listeners.get(name) ?? []) listener(...what); }
  }

  async function mount(box) {
    const text = name => JSON.parse(box.querySelector(`.explorer-${name}`).textContent);
    const url = URL.createObjectURL(new Blob([text('module')], { type: 'text/javascript' }));
    try {
      const leftOut = box.dataset.leftOut?.split(' ') ?? []; // of a file that is alone
      const exhibit = { ...text('data'), leftOut }, state = { ...exhibit.opening, ...exhibit.path[0]?.state };
      // What is wrong with the panels is told once they are needed.
      const model = new Model({ exhibit, linked: true, get panels() { return text('panels'); }, ...state });
      await (await import(url)).default.render({ model, el: box });
    } catch (error) {
      box.classList.add('is-failed');
      console.error('the explorer stays a still picture:', error);
    } finally { URL.revokeObjectURL(url); }
  }

  // Nothing is loaded for what a reader has not come to; an address that names an explorer comes to it at once.
  const still = new Set();
  // The one that is named stays in view, too, while others above it come to life and grow: until the reader acts, the
  // address is another, or nothing has grown for a while.
  const CALM = 4000; // milliseconds
  let sought = null, calm;
  const grown = new ResizeObserver(() => {
    sought.scrollIntoView();
    clearTimeout(calm);
    calm = setTimeout(letGo, CALM);
  });
  function letGo() {
    clearTimeout(calm);
    grown.disconnect();
    sought = null;
  }
  for (const act of ['wheel', 'touchstart', 'pointerdown', 'keydown']) addEventListener(act, letGo, { passive: true });
  const come = box => {
    near.unobserve(box);
    if (still.delete(box)) mount(box);
  };
  const near = new IntersectionObserver(changes => changes.forEach(({ isIntersecting, target }) => {
    if (isIntersecting) come(target);
  }), { rootMargin: '400px' });
  document.querySelectorAll('.explorer:not(.is-mounted)').forEach(box => {
    const follow = () => {
      if (!location.hash.startsWith(`#${box.id}?`)) {
        if (sought === box) letGo();
        return;
      }
      if (still.has(box)) {
        sought = box;
        grown.observe(document.body);
      }
      come(box);
    };
    box.classList.add('is-mounted');
    still.add(box);
    near.observe(box);
    addEventListener('hashchange', follow);
    follow();
  });
})();
