// What a prompt's form says of a prompt that has been read: what kind a slot is, where the answer stands. Defines
// `circuitLookup`.
globalThis.circuitLookup = (() => {
  'use strict';

  // What a slot holds: 'key' of the slot 'key 2'.
  const kindOf = name => name.replace(/ \d+$/, '');

  // Where the answer stands beside the key that is asked for; of units, all that say what holds.
  function asked({ lookup, said }, words) {
    const found = (lookup?.[1] ?? []).filter(([key]) => words[key] === words[lookup[0]]);
    return said ? found.filter(([, value]) => words[value] === words[found.at(-1)[1]]) : found.slice(0, 1);
  }

  return { kindOf, asked };
})();
