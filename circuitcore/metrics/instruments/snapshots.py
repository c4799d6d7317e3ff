"""What a figure shows whole rather than as a score: attention on example prompts, and heads' QK and OV maps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Tensor

from circuitcore.metrics.instruments.battery import BatterySpec, open_session
from circuitcore.metrics.instruments.sections import Session
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores import operators as ops

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run

SNAPSHOTS_VERSION = 1
N_PROMPTS = 2
N_STEPS = 10  # checkpoints whose attention is kept, spread over those of the run


def snapshot_key(spec: BatterySpec) -> str:
    """Name under which the table is stored."""
    return f"snapshots-v{SNAPSHOTS_VERSION}-{spec.key}"


def snapshot(run: "Run", spec: BatterySpec) -> pd.DataFrame:
    """Attention patterns on the first test prompts at some checkpoints, and circuit maps at the last one.

    Returns:
        Columns ``run_id step kind head prompt row column row_label column_label value``. ``kind``: ``pattern`` (row =
        query, column = key, attention mass), ``OV`` (value attended -> value written, logits; from the weights),
        ``QK`` (queried key -> key paired with the attended value; mean score before the softmax on the test prompts,
        less its row mean).
    """
    session = open_session(run.recipe.make_task(), spec)
    batch = session.reported.rows(slice(0, N_PROMPTS))
    frames = []
    with torch.inference_mode():
        for step in spread(run.steps, N_STEPS):
            net = Network(run.recipe.model, run.stack((step,)))
            frames.append(_patterns(net, session, batch).assign(step=step))
        if not run.recipe.model.d_in and run.recipe.model.norm_position == "pre":
            frames += [frame.assign(step=run.final_step) for frame in _maps(net, session)]
    return pd.concat(frames, ignore_index=True).assign(run_id=run.run_id)


def spread(steps: Sequence[int], most: int) -> list[int]:
    """At most ``most`` of the steps, evenly spread in order, first and last included."""
    places = torch.linspace(0, len(steps) - 1, min(most, len(steps))).round().long().unique()
    return [steps[int(place)] for place in places]


def _patterns(net: Network, session: Session, batch) -> pd.DataFrame:
    cache = net.record(batch, net.pattern_keys)
    n_pos = batch.tokens.shape[1]
    query, key = torch.tril_indices(n_pos, n_pos)
    frames = []
    for prompt, tokens in enumerate(batch.tokens):
        words = session.task.decode(tokens).split()
        for layer, head in net.heads:
            values = cache[f"pattern.{layer}"][0, prompt, head][query, key]
            frames.append(
                _frame("pattern", f"L{layer}H{head}", (query, key), (words, words), values).assign(prompt=prompt)
            )
    return pd.concat(frames, ignore_index=True)


def _maps(net: Network, session: Session) -> list[pd.DataFrame]:
    """OV maps of every head from the weights, QK maps as measured on the ablated rows."""
    batch, vocab, values, frames = session.ablated, session.task.vocab, session.answers, []
    for layer, head in net.heads:
        ov = ops.ov_circuit(net, layer, values, values)[0, head]
        frames.append(_matrix("OV", f"L{layer}H{head}", ov, [vocab[i] for i in values.tolist()]))
    if {"slot_key", "slot_value", "query_key"} <= batch.roles.keys():
        cache = net.record(batch, [f"scores.{layer}" for layer in range(net.config.n_layers)])
        keys = torch.unique(batch.tokens.gather(1, batch.roles["slot_key"]))
        for layer, head in net.heads:
            qk = ops.measured_qk(cache[f"scores.{layer}"][0, :, head], batch, keys)
            frames.append(_matrix("QK", f"L{layer}H{head}", qk, [vocab[i] for i in keys.tolist()]))
    return frames


def _matrix(kind: str, head: str, values: Tensor, words: list[str]) -> pd.DataFrame:
    row, column = torch.cartesian_prod(torch.arange(len(words)), torch.arange(len(words))).T
    return _frame(kind, head, (row, column), (words, words), values.flatten()).assign(prompt=-1)


def _frame(
    kind: str, head: str, places: tuple[Tensor, Tensor], words: tuple[list[str], list[str]], values: Tensor
) -> pd.DataFrame:
    (row, column), (down, across) = (place.tolist() for place in places), words
    table = {"kind": kind, "head": head, "row": row, "column": column, "value": values.tolist()}
    return pd.DataFrame(table).assign(row_label=[down[i] for i in row], column_label=[across[i] for i in column])
