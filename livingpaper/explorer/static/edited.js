// Edits of a network on a prompt: what they take their values from. Defines `circuitEdited`.
globalThis.circuitEdited = (() => {
  'use strict';
  const { Recent } = circuitLab, { parse } = circuitEdits, { mark } = circuitMarks, { read, references } = circuitPrompt;
  const fail = sentence => { throw new Error(sentence); };

  // What a lab does with edits: { forward, second, dropPatches, mark }.
  function editedIn(lab) {
    const means = new Recent(8);

    // The tokens of a second prompt, beside a first one of n tokens.
    function second(text, n) {
      if (!text.trim()) fail('a patch needs a second prompt to take the activation from');
      const { ids } = read(lab.task, text);
      if (ids.length !== n) fail(`the second prompt has ${ids.length} tokens, the first ${n}; they must have as many`);
      return ids;
    }

    // Activations that the edits take their values from; only those that some edit uses.
    function sources(place, { edits, source, resample }, n) {
      const kinds = new Set(edits.map(text => parse(text).kind)), found = {}, rows = () => references(lab.task, n);
      const cacheOf = ids => circuitDecoder.forward(lab.model(place), ids).cache;
      if (kinds.has('mean')) {
        found.mean = means.of(`${place.run} ${place.step} ${n}`, () => circuitEdits.mean(rows().map(cacheOf)));
      }
      if (kinds.has('resample')) {
        const last = rows().length - 1;
        found.resample = cacheOf(rows()[resample] ?? fail(`reference prompt ${resample}: there are 0 to ${last}`));
      }
      if (kinds.has('patch')) found.source = cacheOf(second(source, n));
      return found;
    }

    // A typed prompt of another length than the second one leaves a patch nothing to take: it goes, and that is told.
    function dropPatches(next) {
      const edits = next.edits.filter(text => !text.startsWith('patch'));
      if (edits.length === next.edits.length) return '';
      const [n, other] = [next.prompt, next.source].map(text => read(lab.task, text).ids.length);
      if (n === other) return '';
      next.edits = edits;
      return `Patches are removed: the prompt has ${n} tokens, the second one ${other}; they must have as many.`;
    }

    // A place on a prompt, under the edits of a state.
    const forward = (place, state, ids) => circuitEdits.forward(
      lab.model(place), ids, circuitEdits.compile(state.edits, ids.length, sources(place, state, ids.length)));

    return { forward, second, dropPatches, mark };
  }

  return { editedIn };
})();
