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
      waiter.done = new Promise((resolve, reject) => waiting.set(run, Object.assign(waiter, { resolve, reject })));
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

  // What is seen of a circuit, as sentences: `how` it is asked, the edits, what is said, what its tests support.
  function seen(links, how, edits, said) {
    const by = is => links.filter(link => link.isSupported === is)
      .map(({ number, move, head }) => `${number} ${move.name} (${head})`).join(', ') || 'none';
    const off = edits.join(', ').replace(/zero\((\w+)\)@all/g, '$1 off');
    return `${how}${off && `, with ${off}`}, it says ${said}. ${links.length
      ? `Supported at this step: ${by(true)}; not: ${by(false)}.` : 'No test speaks of it.'}`;
  }

  // The suggested path, a stop at a time; change(state) gives whether it could be shown. Away from the stop the text is
  // what is seen there.
  function pathOf(stops, opening, change) {
    let at = 0, shown;
    const text = el('p', 'story', { ariaLive: 'polite' }), counted = el('span', 'quiet'), last = stops.length - 1;
    const stateAt = stop => ({ ...opening, ...stops[stop].state });
    const go = by => async () => {
      const before = at;
      if (!stops[before + by]) return;
      at += by;
      if (await change(stateAt(at))) return;
      at = before;
      show(...shown);
    };
    const back = button('button', go(-1), 'Back'), next = button('button', go(1), 'Next');
    const isAt = state => last >= 0 && same({ ...stateAt(at), rule: '' }, { ...state, rule: '' }); // births are told below
    function show(...now) {
      const [state, seen] = shown = now, isHere = isAt(state), { title, text: words, told } = stops[at] ?? {};
      const found = el('span', '', ...(isHere
        ? [el('strong', '', `${title} `), words, ...told.map(one => el('span', 'told', ` ${one}`))] : [seen]));
      if (!found.isEqualNode(text.firstChild)) text.replaceChildren(found); // what is replaced is read aloud
      say(counted, `${at + 1} of ${last + 1}${isHere ? '' : ', changed by you'}`);
      enable(back, at > 0);
      enable(next, at < last);
    }
    return {
      node: el('div', 'path',
        el('div', 'row', { role: 'group', ariaLabel: 'Suggested path', hidden: last < 0 }, counted, back, next), text),
      restart() { at = 0; },
      // What is spoken of: of what tests support the moves that the stop names; away from it, all.
      light(state, links) {
        for (const link of links) {
          link.isLit = link.isSupported && (!isAt(state) || stops[at].lit.includes(link.move.name));
        }
      },
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

  return { wanting, fieldsOf, pathOf, seen, onUndo, opened, sentence };
})();
