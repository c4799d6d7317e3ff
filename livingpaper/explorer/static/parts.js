// Small parts of interactive pages. `pageParts(prefix)` makes elements whose classes begin with that prefix. Text only
// ever goes in as text.
globalThis.pageParts = prefix => {
  'use strict';
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const say = (node, text) => node.textContent === text || (node.textContent = text);

  // An element with classes of ours; then its properties (`role` and `ariaLabel` are such), texts and children.
  function el(tag, classes = '', ...parts) {
    const node = document.createElement(tag);
    if (classes) node.className = classes.replace(/\S+/g, `${prefix}-$&`);
    for (const part of parts) {
      if (typeof part === 'string' || part instanceof Node) node.append(part);
      else Object.assign(node, part);
    }
    return node;
  }

  // A button that is out of use keeps the focus, so that a keyboard does not lose its place.
  const enable = (node, can) => { node.ariaDisabled = !can; };
  const button = (classes, act, ...parts) => el('button', classes, {
    type: 'button', onclick: event => event.currentTarget.ariaDisabled === 'true' || act(event),
  }, ...parts);

  // Make [value, text] pairs the options of a menu; what was chosen stays so while it is among them.
  function fill(menu, pairs) {
    if (same([...menu.options].map(({ value, text }) => [value, text]), pairs)) return;
    const before = menu.value;
    menu.replaceChildren(...pairs.map(([value, text]) => el('option', '', { value, text })));
    if (pairs.some(([value]) => value === before)) menu.value = before;
  }

  // One stop of the Tab key for a group of buttons; arrows, Home and End move in it.
  function toolbar(box) {
    const all = () => [...box.querySelectorAll(':is(button, [role=button]):not([hidden])')];
    const stopAt = node => all().forEach(other => (other.tabIndex = other === node ? 0 : -1));
    box.role = 'toolbar';
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

  return { el, same, say, enable, button, fill, toolbar };
};
