"""Counterfactual key-value prompts: families for behaviour, pairs for interchange and path patching.

Rows made from one base prompt stand side by side, and ``base`` names it. Every target, role and
variable is rendered anew from the changed prompt. ``m`` below is the matching slot of the base.
"""

import itertools
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Int
from numpy.random import PCG64
from torch import Tensor

from circuitcore.tasks.base import Interchange
from circuitcore.tasks.kv_prompts import KVAlphabet, KVPrompts, at_slot, render
from circuitcore.tasks.kv_sampling import insert_at, random_bits, random_choice


def sweep_families(bases: KVPrompts) -> Mapping[str, KVPrompts]:
    """The five families that change one thing at a time about a base prompt with p pairs.

    ==========================  =========  ======================================================
    family                      rows/base  how
    ==========================  =========  ======================================================
    query_key_sweep             p          same context, each of its keys asked for
    slot_permutation            p!         the pairs in every order, same query
    value_permutation           p!         the values dealt to the keys in every way, same query
    same_answer_different_slot  p - 1      the matching pair swapped with each other pair
    same_slot_different_answer  p - 1      the same swaps, asking for the key now in slot m
    ==========================  =========  ======================================================

    The base itself is among the first three. With more than 3 pairs p! gets large: there, the p
    rotations stand in for all orders.
    """
    slots = torch.arange(bases.n_pairs)
    orders = _orders(bases.n_pairs)
    sweep = _with_slot(bases.repeat(bases.n_pairs), slots.repeat(len(bases.slot)))
    swaps, others = _for_slots(bases, 1)
    swap = slots.repeat(len(others), 1)
    swap = torch.where(slots == swaps.slot[:, None], others, swap)
    swap = torch.where(slots == others, swaps.slot[:, None], swap)
    moved = _reorder(swaps, swap)
    return {
        "query_key_sweep": sweep,
        "slot_permutation": _reorder(bases.repeat(len(orders)), orders.repeat(len(bases.slot), 1)),
        "value_permutation": _deal(bases.repeat(len(orders)), orders.repeat(len(bases.slot), 1)),
        "same_answer_different_slot": moved,
        "same_slot_different_answer": _with_slot(moved, swaps.slot),
    }


def interchanges(bases: KVPrompts, alphabet: KVAlphabet, seed: int) -> tuple[Interchange, ...]:
    """Interchange experiments, with the answer predicted by each variable a site could carry.

    "query_key": the context of the base, another query; all ordered pairs of queries. Query, slot
    and answer change together, so the one prediction is "source_answer". This is the published test.

    The others tell the three variables apart. No value of their source occurs in the base, so the
    base can only give the source's answer if the value itself was carried over:

    - "same_slot": the source asks for a key that the base holds in slot j, but has it in slot m.
    - "same_key": the source asks for the key of the base, but has it in slot i.
    - "separating": the source asks for the base key of slot j, and has it in slot i; i, j, m differ.

    Carrying ``query_key`` predicts the base's value for the source's query; ``matching_slot``
    the base's value in the source's slot; ``selected_value`` the source's answer. The three
    predictions differ in every row. The last three need twice as many values as pairs, and
    "separating" three pairs; where they cannot be made they are left out. Other keys and values of
    the sources are drawn at random from ``seed``, and are not checked against any split.
    """
    made = [_query_interchange(bases, alphabet)]
    if alphabet.n_values < 2 * bases.n_pairs:
        return tuple(made)
    base, others = _for_slots(bases, 1)
    # name -> base, the slot where the base holds the source's query key, the slot where the source does
    cases = {"same_slot": (base, others[:, 0], base.slot), "same_key": (base, base.slot, others[:, 0])}
    if bases.n_pairs >= 3:
        apart, pairs = _for_slots(bases, 2)
        cases["separating"] = (apart, pairs[:, 0], pairs[:, 1])
    for name, (base, held, asked) in cases.items():
        bits = random_bits(seed, f"interchange {name}")
        source = _fresh_source(base, at_slot(base.keys, held), asked, alphabet, bits)
        made.append(_three_way(name, base, source, held, alphabet))
    return tuple(made)


def value_interchange(bases: KVPrompts, alphabet: KVAlphabet) -> Interchange:
    """The published test of the selected value: each base patched from its rows of "same_slot_different_answer".

    Key and value of the slot change together, so the one prediction is "source_answer".
    """
    sources = sweep_families(bases)["same_slot_different_answer"]
    return _source_answer("selected_value", bases.repeat(bases.n_pairs - 1), sources, alphabet)


def edge_tests(bases: KVPrompts, alphabet: KVAlphabet) -> tuple[Interchange, ...]:
    """Base/source pairs for path patching: one ingredient differs, and so does the answer.

    - "query": same context, each other query.
    - "keys": same query, values in place, keys rotated, so that the query key sits elsewhere.
    - "values": same keys and query, values rotated.

    One row for each base and each change that is not the identity, p - 1 a base. The prediction
    "source_answer" is what the base must say if the patched path carries the ingredient.
    """
    base, others = _for_slots(bases, 1)
    shift = torch.arange(1, bases.n_pairs).repeat(len(bases.slot))[:, None]
    rotation = (torch.arange(bases.n_pairs) + shift) % bases.n_pairs
    rotated_keys = KVPrompts(
        keys=base.keys.gather(1, rotation),
        values=base.values,
        slot=(base.slot - shift[:, 0]) % bases.n_pairs,
        base=base.base,
    )
    sources = {
        "query": _with_slot(base, others[:, 0]),
        "keys": rotated_keys,
        "values": _deal(base, rotation),
    }
    return tuple(_source_answer(name, base, source, alphabet) for name, source in sources.items())


def _orders(n_pairs: int) -> Int[Tensor, "order slot"]:
    """All orders of up to 3 pairs; beyond, the rotations."""
    if n_pairs <= 3:
        return torch.tensor(list(itertools.permutations(range(n_pairs))))
    slots = torch.arange(n_pairs)
    return (slots + slots[:, None]) % n_pairs


def _with_slot(prompts: KVPrompts, slot: Int[Tensor, " batch"]) -> KVPrompts:
    """The same contexts, asking for the key in ``slot``."""
    return KVPrompts(keys=prompts.keys, values=prompts.values, slot=slot, base=prompts.base)


def _reorder(prompts: KVPrompts, order: Int[Tensor, "batch slot"]) -> KVPrompts:
    """The pairs moved (slot s receives pair order[s]), the same key asked for."""
    return KVPrompts(
        keys=prompts.keys.gather(1, order),
        values=prompts.values.gather(1, order),
        slot=(order == prompts.slot[:, None]).int().argmax(1),
        base=prompts.base,
    )


def _deal(prompts: KVPrompts, order: Int[Tensor, "batch slot"]) -> KVPrompts:
    """The values moved (slot s receives value order[s]), keys and query as they were."""
    return KVPrompts(keys=prompts.keys, values=prompts.values.gather(1, order), slot=prompts.slot, base=prompts.base)


def _for_slots(bases: KVPrompts, n_slots: int) -> tuple[KVPrompts, Int[Tensor, "batch chosen"]]:
    """Each base once for every ordered choice of ``n_slots`` distinct slots other than m.

    The slots are counted on from m, wrapping round: the same choices for every m.
    """
    steps = torch.tensor(list(itertools.permutations(range(1, bases.n_pairs), n_slots)))
    repeated = bases.repeat(len(steps))
    return repeated, (repeated.slot[:, None] + steps.repeat(len(bases.slot), 1)) % bases.n_pairs


def _source_answer(name: str, base: KVPrompts, source: KVPrompts, alphabet: KVAlphabet) -> Interchange:
    """The interchange whose one prediction is the answer of the source."""
    rendered = render(source, alphabet)
    return Interchange(
        name=name,
        base=render(base, alphabet),
        source=rendered,
        expected={"source_answer": rendered.answers},
    )


def _query_interchange(bases: KVPrompts, alphabet: KVAlphabet) -> Interchange:
    """All ordered pairs of different queries in the context of each base."""
    pairs = torch.tensor(list(itertools.permutations(range(bases.n_pairs), 2)))
    repeated, slots = bases.repeat(len(pairs)), pairs.repeat(len(bases.slot), 1)
    base, source = _with_slot(repeated, slots[:, 0]), _with_slot(repeated, slots[:, 1])
    return _source_answer("query_key", base, source, alphabet)


def _fresh_source(
    base: KVPrompts,
    query: Int[Tensor, " batch"],
    slot: Int[Tensor, " batch"],
    alphabet: KVAlphabet,
    bits: PCG64,
) -> KVPrompts:
    """Prompts that ask for ``query`` in ``slot``; the rest is random, with no value of the base."""
    key_left = np.arange(alphabet.n_keys) != query.numpy()[:, None]
    others = random_choice(bits, base.n_pairs - 1, key_left)
    value_left = np.ones((len(slot), alphabet.n_values), dtype=bool)
    np.put_along_axis(value_left, base.values.numpy(), values=False, axis=1)
    return KVPrompts(
        keys=torch.from_numpy(insert_at(others, query.numpy(), slot.numpy())),
        values=torch.from_numpy(random_choice(bits, base.n_pairs, value_left)),
        slot=slot,
        base=base.base,
    )


def _three_way(
    name: str, base: KVPrompts, source: KVPrompts, held: Int[Tensor, " batch"], alphabet: KVAlphabet
) -> Interchange:
    """The interchange whose predictions tell the variables apart; the base holds the key in ``held``."""
    predicted = {
        "query_key": at_slot(base.values, held),
        "matching_slot": at_slot(base.values, source.slot),
        "selected_value": source.selected,
    }
    return Interchange(
        name=name,
        base=render(base, alphabet),
        source=render(source, alphabet),
        expected={variable: alphabet.first_value + value for variable, value in predicted.items()},
    )
