// A matrix as a picture: a square a number, blue above zero, orange below, paler the smaller. Needs `circuitSvg`.
// Defines `matrixHeat`.
globalThis.matrixHeat = (() => {
  'use strict';
  const { svg } = circuitSvg;

  // An empty picture; `name` begins its classes.
  const picture = (name, rows, columns, label) => svg('svg', {
    class: `${name}-heat`, viewBox: `0 0 ${columns} ${rows}`, role: 'img', 'shape-rendering': 'crispEdges',
    'aria-label': label,
  });

  // Whole shades [row * columns + column] from -most to most, painted one path a shade.
  function paint(node, shades, columns, most) {
    const found = new Map();
    shades.forEach((shade, i) => {
      if (shade) found.set(shade, `${found.get(shade) ?? ''}M${i % columns} ${Math.floor(i / columns)}h1v1h-1z`);
    });
    node.replaceChildren(...[...found].map(([shade, d]) => svg('path', {
      class: shade > 0 ? 'above' : 'below', 'fill-opacity': String(Math.abs(shade) / most), d,
    })));
  }

  return { picture, paint };
})();
