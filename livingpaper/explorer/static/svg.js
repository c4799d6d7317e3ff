// Elements of drawings. Defines `circuitSvg`.
globalThis.circuitSvg = (() => {
  'use strict';

  // An element of a drawing, its numbers with one decimal at most.
  function svg(tag, attributes, ...children) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) {
      node.setAttribute(name, typeof value === 'number' ? Math.round(value * 10) / 10 : value);
    }
    node.append(...children);
    return node;
  }

  return { svg };
})();
