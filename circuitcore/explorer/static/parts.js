// Small parts of interactive pages. `pageParts(prefix)` makes elements whose classes begin with that prefix. Text only
// ever goes in as text.
globalThis.pageParts = prefix => {
  'use strict';
  const mark = (node, key, value) => node.setAttribute(key === 'role' ? key : `aria-${key}`, value);
  const say = (node, text) => node.textContent === text || (node.textContent = text);

  // An element with classes of ours, properties, aria attributes and children.
  function el(tag, name = '', properties = {}, ...children) {
    const { aria = {}, ...own } = properties, node = document.createElement(tag);
    if (name) node.className = name.split(' ').map(word => `${prefix}-${word}`).join(' ');
    Object.assign(node, own);
    for (const [key, value] of Object.entries(aria)) mark(node, key, value);
    node.append(...children);
    return node;
  }

  // A button that is out of use keeps the focus, so that a keyboard does not lose its place.
  const enable = (node, can) => mark(node, 'disabled', !can);
  const button = (name, act, properties) => el('button', name, {
    type: 'button', onclick: event => event.currentTarget.getAttribute('aria-disabled') === 'true' || act(event), ...properties,
  });

  // One stop of the Tab key for a group of buttons; arrows, Home and End move inside it.
  function toolbar(box) {
    const all = () => [...box.querySelectorAll('button')].filter(node => !node.hidden);
    const stopAt = node => all().forEach(other => (other.tabIndex = other === node ? 0 : -1));
    mark(box, 'role', 'toolbar');
    box.addEventListener('focusin', event => stopAt(event.target));
    box.addEventListener('keydown', event => {
      const nodes = all(), at = nodes.indexOf(event.target), last = nodes.length - 1;
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last };
      if (!(event.key in to) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      nodes[Math.min(Math.max(to[event.key], 0), last)].focus();
    });
    return preferred => {
      const nodes = all();
      if (!nodes.includes(document.activeElement)) stopAt(nodes.includes(preferred) ? preferred : nodes[0]);
    };
  }

  return { el, mark, say, enable, button, toolbar };
};
