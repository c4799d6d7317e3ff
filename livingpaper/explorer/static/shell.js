// What stands around every stage: its weights on their way, its state outside, its path, how it opens. Defines
// `circuitShell`.
globalThis.circuitShell = (() => {
  'use strict';
  const { el, same, say, enable, button } = pageParts('explorer');

  // want(run), a promise of weights that the lab lacks, asked for once; null where they are here.
  function wanting(lab, model) {
    const waiting = new Map(); // run -> promise and what settles it
    model.on('msg:custom', ({ run, packed, error }) => {
      const waiter = waiting.get(run);
      waiting.delete(run);
      try {
        if (error) throw new Error(error);
        lab.add(run, packed);
        waiter?.resolve();
      } catch (problem) { waiter?.reject(problem); }
    });
    return run => {
      if (lab.has(run)) return null;
      if (waiting.has(run)) return waiting.get(run).done;
      const waiter = {};
      waiter.done = new Promise((resolve, reject) => Object.assign(waiter, { resolve, reject }));
      waiting.set(run, waiter);
      model.send({ want: run }); // which may have brought them when it returns
      return waiter.done;
    };
  }

  // A state as fields of a model: { asked(), share(state) }; changed(asked) is called when others change them.
  function fieldsOf(model, names, changed) {
    const asked = () => Object.fromEntries(names.map(name => [name, model.get(name)]));
    let isSharing = false; // a model tells of every field by itself, when the others are still the old ones
    model.on(names.map(name => `change:${name}`).join(' '), () => isSharing || changed(asked()));
    return {
      asked,
      share(state) {
        isSharing = true;
        for (const name of names) if (!same(model.get(name), state[name])) model.set(name, state[name]);
        isSharing = false;
        model.save_changes();
      },
    };
  }

  // The suggested path, a stop at a time; change(state) gives whether it could be shown. A state is at the stop where
  // they differ in nothing but what `ignored` sets in both.
  function pathOf(stops, opening, change, ignored = {}) {
    let at = 0, shown;
    const text = el('p', 'story'), counted = el('span', 'quiet'), last = stops.length - 1;
    const stateAt = stop => ({ ...opening, ...stops[stop].state });
    const go = by => async () => {
      const before = at;
      if (!stops[before + by]) return;
      at += by;
      if (await change(stateAt(at))) return;
      at = before;
      show(shown);
    };
    const back = button('button', go(-1), 'Back'), next = button('button', go(1), 'Next');
    const isAt = state => last >= 0 && same({ ...stateAt(at), ...ignored }, { ...state, ...ignored });
    function show(state) {
      shown = state;
      if (last < 0) return;
      const { title, text: words, told } = stops[at];
      text.replaceChildren(el('strong', '', `${title} `), words, ...told.map(one => el('span', 'told', ` ${one}`)));
      say(counted, `${at + 1} of ${last + 1}${isAt(state) ? '' : ', changed by you'}`);
      enable(back, at > 0);
      enable(next, at < last);
    }
    return {
      node: el('div', 'path', { role: 'group', ariaLabel: 'Suggested path', hidden: last < 0 }, text,
        el('div', 'row', counted, back, next)),
      restart() { at = 0; },
      litAt: state => (isAt(state) ? stops[at].lit : []),
      show,
    };
  }

  // Ctrl or Command and z; in a field they are the field's own.
  function onUndo(node, undo) {
    node.addEventListener('keydown', event => {
      const isTyped = event.target.matches('input:not([type=range]), textarea');
      if (event.key !== 'z' || !(event.ctrlKey || event.metaKey) || isTyped) return;
      event.preventDefault();
      undo();
    });
  }

  // What a module exports: open(model, box, still) is a promise; where it is not kept the still stays, and says why.
  const opened = open => ({
    async render({ model, el: box }) {
      box.classList.add('explorer');
      const still = box.querySelector('.explorer-still');
      try {
        await open(model, box, still);
        box.classList.add('is-live');
      } catch (error) {
        say(still?.querySelector('.explorer-without') ?? box.appendChild(el('p', 'problem')),
          `The explorer cannot run here: ${error.message}`);
        throw error;
      }
    },
  });

  const sentence = text => `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;

  return { wanting, fieldsOf, pathOf, onUndo, opened, sentence };
})();
