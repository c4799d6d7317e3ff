// What edits do to a drawn circuit. Defines `circuitMarks`; needs `circuitEdits`, `editText`.
globalThis.circuitMarks = (() => {
  'use strict';
  const { parse } = circuitEdits, { cut } = editText;

  // The part that an edit takes away as a whole, or nothing.
  function partOff(text) {
    const { layer, head, site, positions } = parse(text), isMlp = head === null;
    return positions === 'all' && site === (isMlp ? 'mlp_out' : 'z') ? `L${layer}${isMlp ? 'MLP' : `H${head}`}` : null;
  }

  // Marks what is removed or cut. An arrow that is cut stays, to be put back: attention alone, too, though there is none
  // of it left.
  function mark({ layers, tokens, links, looks }, edits) {
    const all = new Set(edits), off = new Set(edits.map(partOff)), known = new Set();
    for (const link of links) {
      link.isRemoved = link.heads.every(head => off.has(head));
      for (const arrow of link.arrows.filter(({ target }) => target !== null)) {
        const cuts = link.heads.map(head => cut(head, arrow.target, arrow.source));
        arrow.isCut = cuts.every(text => all.has(text));
        cuts.forEach(text => known.add(text));
      }
    }
    for (const text of all) {
      const { kind, layer, head, query, key } = parse(text);
      if (kind !== 'cut' || layer >= layers || Number(query) >= tokens.length || known.has(text)) continue;
      looks.push({
        layer, source: Number(key), target: Number(query), weight: 0, brings: '', head: `L${layer}H${head}`, isCut: true,
      });
    }
  }

  return { mark, partOff };
})();
