// Elements of drawings. Defines `circuitSvg`.
globalThis.circuitSvg = (() => {
  'use strict';

  // One decimal at most, as finely as anybody sees.
  const round = value => Math.round(value * 10) / 10;

  // An element of a drawing, its numbers so rounded.
  function svg(tag, attributes, ...children) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) {
      node.setAttribute(name, typeof value === 'number' ? round(value) : value);
    }
    node.append(...children);
    return node;
  }

  return { svg, round };
})();
