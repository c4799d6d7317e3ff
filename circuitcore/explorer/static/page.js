// Mounts every `.explorer` of a page that is not live yet: the widget's module, with a stand-in for its model, where no
// kernel runs. Weights are classic scripts below `_static/explorer`, or texts inside the page; both work from file://.
(() => {
  'use strict';

  // Weights scripts call this; whoever asked for that run gets them. One for all explorers of a page: each brings this
  // script along.
  globalThis.paperWeights ??= message => {
    const { wanted } = paperWeights, tellers = wanted.get(message.run);
    wanted.delete(message.run);
    tellers?.forEach(tell => tell(message));
  };
  const wanted = (paperWeights.wanted ??= new Map());

  function load(run, tell) {
    const isComing = wanted.has(run);
    wanted.set(run, [...(wanted.get(run) ?? []), tell]);
    if (isComing) return;
    const script = document.createElement('script');
    const fail = words => paperWeights({ run, error: `the weights of run ${run} ${words}` });
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

  class Model {
    #values;
    #listeners = new Map();
    constructor(values) { this.#values = { ...values }; }
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
    send({ want }) { load(want, message => this.#tell('msg:custom', message)); }
    #tell(name, ...what) { for (const listener of this.#listeners.get(name) ?? []) listener(...what); }
  }

  async function mount(box) {
    const text = name => JSON.parse(box.querySelector(`.explorer-${name}`).textContent);
    const url = URL.createObjectURL(new Blob([text('module')], { type: 'text/javascript' }));
    try {
      const exhibit = text('data'), state = { ...exhibit.opening, ...exhibit.path[0]?.state };
      const model = new Model({ exhibit, linked: true, ...state });
      await (await import(url)).default.render({ model, el: box });
    } catch (error) {
      console.error('the explorer stays a still picture:', error);
    } finally { URL.revokeObjectURL(url); }
  }

  // Nothing is loaded for what a reader has not come to; an address that names an explorer comes to it at once.
  const still = new Set();
  const come = box => {
    near.unobserve(box);
    if (still.delete(box)) mount(box);
  };
  const near = new IntersectionObserver(changes => changes.forEach(({ isIntersecting, target }) => {
    if (isIntersecting) come(target);
  }), { rootMargin: '400px' });
  document.querySelectorAll('.explorer:not(.is-mounted)').forEach(box => {
    const follow = () => location.hash.startsWith(`#${box.id}?`) && come(box);
    box.classList.add('is-mounted');
    still.add(box);
    near.observe(box);
    addEventListener('hashchange', follow);
    follow();
  });
})();
