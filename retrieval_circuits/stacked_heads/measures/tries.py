"""What tries a circuit that was read: are values used as drawn, and does the reading find paths where there are none?

Source: Musat (ICLR 2025), section 8, sets where heads look and leaves what they carry to the network. Exchanging what
stands at the end of a path, and reading networks without a circuit, are not in the source.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.models import compile_edits, forward, init_weights
from circuitcore.tasks.base import Batch
from circuitcore.tasks.chains import ChainRetrieval
from retrieval_circuits.stacked_heads.measures.circuit import Circuit, Reading, at_the_end, circuit_of, edits_of
from retrieval_circuits.stacked_heads.measures.scores import Counts, link_attention, patterns_of

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


def named_paths(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """``attention`` of every head along the links that a chain can be followed by, at every checkpoint.

    They are those of ``ChainRetrieval.links``; the numbers are those of ``chain_scores``.
    """
    tables = []
    for steps, net in stacks(run):
        tables.append(_links_at(run, counts, steps, net))
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def final_links(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """The same at the last checkpoint."""
    steps = run.steps[-1:]
    table = _links_at(run, counts, steps, Network(run.recipe.model, run.stack(steps)))
    progress(1)
    return table


def _links_at(run: "Run", counts: Counts, steps: Sequence[int], net: Network) -> pd.DataFrame:
    task = run.recipe.make_task()
    looked = task.split("test").rows(slice(0, counts.n_looked))
    rows, pattern = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps]), patterns_of(net, looked)
    for link in task.links:
        labels = [{**head, "site": ">".join(link)} for head in head_labels(net.heads)]
        rows.add("attention", link_attention(pattern, looked, link)[0], len(looked) * task.n_chains, labels)
    return rows.frame()


def exchanged_values(run: "Run", how: Reading, progress: Callable[[int], None]) -> pd.DataFrame:
    """Another symbol at one position: does the answer follow it?

    In half of the chains one copy of a symbol is exchanged for that of the next row. With attention free this breaks
    the chain; with every head's attention set along the circuit's paths, and evenly elsewhere, the answer must follow
    what stands at the end of the path that is said to fetch it.

    Metric ``exchange_error``, on the split "test", by ``variable`` (the symbol), ``site`` (the role whose position is
    exchanged: "value_k" holds the answer of look-up k, "key_k" is the next pair's copy of it), ``edit`` ("none" or
    "paths") and ``family``: the squared error of the exchanged chains against the "new" symbol (0 follows, 2 stays) and
    against the "old" one, and of the "others", whose symbols stand as they stood.
    """
    task, net, batch = at_the_end(run, how)
    _, left, _ = circuit_of(task, net, batch, how)
    rows = Rows(run.run_id, run.steps[-1:], [run.tokens_seen(run.steps[-1])])
    n_asked = len(batch) * task.n_chains // 2
    for place in task.asked:
        for role in (f"value_{place - 1}", f"key_{place}"):
            if role in batch.roles:
                found = exchange_errors(task, net, batch, (place, role), {"none": None, "paths": left})
                for (edit, family), error in found.items():
                    label = {"variable": f"x_{place}", "site": role}
                    rows.add("exchange_error", error[None], n_asked, [label], split="test", edit=edit, family=family)
    progress(1)
    return rows.frame()


def exchange_errors(
    task: ChainRetrieval,
    net: Network,
    batch: Batch,
    exchanged: tuple[int, str],
    circuits: Mapping[str, Circuit | None],
) -> dict[tuple[str, str], Float[Tensor, " ckpt"]]:
    """Squared errors by circuit and by what they are against ("new", "old", "others"), one copy of x_k exchanged.

    Args:
        task: of the rows.
        net: whose answers.
        batch: rows as they were.
        exchanged: k, and the role whose positions get another symbol, in the first half of the chains.
        circuits: along which attention is set; None leaves it free.
    """
    place, role = exchanged
    half, row = task.n_chains // 2, torch.arange(len(batch))[:, None]
    old = batch.tokens[row, batch.roles[role], : task.d_symbol]  # [row chain d_symbol]
    new = old.roll(1, 0)
    tokens = batch.tokens.clone()
    tokens[row, batch.roles[role][:, :half], : task.d_symbol] = new[:, :half]
    changed = replace(batch, tokens=tokens)
    like = net.run(changed, net.pattern_keys).cache
    plan = compile_edits([edits_of(net, circuit) for circuit in circuits.values()], batch.roles, {}, like)
    with torch.inference_mode():
        outputs = forward(net.config, net.weights, tokens, plan).logits
    at = task.asked.index(place) * task.d_symbol
    said = outputs[..., row, batch.roles["queries"], at : at + task.d_symbol]  # [circuit ckpt row chain d_symbol]
    wrong = {
        "new": (said - new)[..., :half, :],
        "old": (said - old)[..., :half, :],
        "others": (said - old)[..., half:, :],
    }
    means = {family: values.square().mean((-1, -2, -3)) for family, values in wrong.items()}
    return {(edit, family): means[family][i] for i, edit in enumerate(circuits) for family in means}


def false_paths(run: "Run", how: Reading, progress: Callable[[int], None]) -> pd.DataFrame:
    """How many paths the reading finds in a trained network, in an untrained one, and in the trained one permuted.

    Metrics ``n_candidates`` and ``n_left``, by ``edit`` ("trained", "untrained", "permuted"): paths between different
    roles with mean attention above one half, and those that are left when they are taken away one by one. Permuted: the
    numbers of every weight are shuffled within it, so that their sizes stay and what they do does not.
    """
    task, net, batch = at_the_end(run, how)
    config, seed = run.recipe.model, run.recipe.init_seed
    found = {
        "trained": net.weights,
        "untrained": {name: value[None] for name, value in init_weights(config, seed).items()},
        "permuted": permuted(net.weights, seed),
    }
    rows = Rows(run.run_id, run.steps[-1:], [run.tokens_seen(run.steps[-1])])
    for edit, weights in found.items():
        tried, left, _ = circuit_of(task, Network(config, weights), batch, how)
        for metric, paths in {"n_candidates": tried, "n_left": left}.items():
            count = sum(path.query != path.key for path in paths)
            rows.add(metric, torch.tensor([float(count)]), len(batch), split="test", edit=edit)
    progress(1)
    return rows.frame()


def permuted(weights: Mapping[str, Tensor], seed: int) -> dict[str, Tensor]:
    """Every weight with its numbers in another order, drawn from ``seed``."""
    generator, made = torch.Generator().manual_seed(seed), {}
    for name in sorted(weights):
        value = weights[name]
        made[name] = value.flatten()[torch.randperm(value.numel(), generator=generator)].reshape(value.shape)
    return made
