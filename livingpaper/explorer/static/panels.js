// What opens below the stage. Each fills a body and gives what paints it. Defines `circuitPanels`.
// They work with a desk: { lab, change(changes), edit(texts), need(who, kind), now() -> { state, readings } }.
globalThis.circuitPanels = (() => {
  'use strict';
  const { el } = pageParts('explorer'), { bar, cell } = circuitBars, { table, named } = circuitTables;
  const { placesOf } = circuitLab;

  // Every number of both networks.
  function results({ lab, edit, now }, body) {
    const cut = (...edge) => edit([editText.cut(...edge)]);
    const panes = [0, 1].map(() => new circuitPane.Pane(lab, cut));
    const both = el('div', 'both', ...panes.map(({ node }) => node));
    body.append(both);
    return () => {
      const { state, readings } = now(), { edits, other } = state, cuts = new Map();
      for (const text of edits) {
        const [, head, query, key] = /^cut\((L\d+H\d+):(\d+)->(\d+)\)$/.exec(text) ?? [];
        if (head) cuts.set(head, (cuts.get(head) ?? new Set()).add(`${query},${key}`));
      }
      both.classList.toggle('is-two', Boolean(other));
      panes[1].node.hidden = !other;
      placesOf(state).forEach(({ run, step }, i) => {
        const { condition, seed } = lab.run(run);
        const title = other ? `${condition}, seed ${seed}, step ${circuitStrip.number(step)}` : '';
        panes[i].show(title, readings[i], cuts, edits.length > 0);
      });
    };
  }

  function curves({ lab, now }, body) {
    const both = [0, 1].map(() => new circuitCurves.Curves());
    body.append(...both.map(({ node }) => node));
    return () => {
      const { state } = now();
      both[1].node.hidden = !state.other;
      placesOf(state).forEach(({ run, step }, i) => both[i].show(lab.run(run), step));
    };
  }

  function composer({ lab, change, edit, need, now }, body) {
    const made = new circuitComposer.Composer(lab, {
      change, need: kind => need('composer', kind), edit: text => edit([text]),
    });
    body.append(made.node);
    return () => {
      const { state, readings } = now();
      made.show(state, readings[0].asked);
    };
  }

  function sweep({ lab, now }, body) {
    const { signed, share, subsets } = circuitPane;
    return () => {
      const { state, readings } = now();
      const rows = subsets(lab, state, state).map(({ off, margin, probability: p, says }) => el('tr', '',
        named(off.join(', ') || 'none'), bar(p), cell(share(p)), cell(signed(margin)), cell(lab.word(says))));
      const answer = lab.word(readings[0].now.target);
      const caption = `Probability of ${answer} with these heads set to zero, on top of the edits in place.`;
      body.replaceChildren(table(caption, ['off', 'probability', '', 'margin', 'likeliest'], rows));
    };
  }

  return { results, curves, composer, sweep };
})();
