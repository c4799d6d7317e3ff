"""What is measured on networks that follow chains: how far along the chain they get, and where each head looks."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows, head_labels
from circuitcore.tasks.base import Batch
from circuitcore.tasks.chains import ChainRetrieval

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many test rows are asked.

    Attributes:
        n_rows: rows on which losses are measured; each has a query for every chain.
        n_looked: rows on which attention is averaged; the source takes 32. 0: attention is not measured.
    """

    n_rows: int
    n_looked: int


def chain_scores(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """Losses of every checkpoint, symbol by symbol, and how much each head attends along each link.

    Metrics, on the split "test":

    * ``partial_loss``: squared error of one symbol of the chain (variable ``x_k``), averaged over its numbers, the
      queries and the rows. 1 for somebody who says 0, 1 - 1/chains for somebody who knows the step but not the chain.
    * ``loss_at_place``: the same of the queries whose pair stands at one place of its block (site ``place 0``, ...) for
      the symbol that the pair holds as its value.
    * ``loss``: the mean over the symbols that are asked for, which is what is trained on.
    * ``attention``: mean weight of one head from the positions of one role to those of another of the same chain (site
      ``query>key_0``). Even attention over everything before gives less than 1 over the block's length.
    * ``attention_elsewhere``: the same to the other chains' positions of that role, all together.
    """
    task = run.recipe.make_task()
    test = task.split("test")
    scored, looked = test.rows(slice(0, counts.n_rows)), test.rows(slice(0, counts.n_looked))
    tables = []
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        _add_losses(task, net, scored, rows)
        if counts.n_looked:
            _add_attention(task, net, looked, rows)
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def _add_losses(task: ChainRetrieval, net: Network, batch: Batch, rows: Rows) -> None:
    outputs = net.run(batch).logits
    parts = partial_losses(task, outputs, batch)
    n_asked = len(batch) * task.n_chains
    labels = [{"variable": f"x_{place}"} for place in task.asked]
    rows.add("partial_loss", parts, n_asked, labels, split="test")
    rows.add("loss", parts.mean(-1), n_asked, split="test")
    at_places = losses_at_places(task, outputs, batch)
    labels = [{**label, "site": f"place {place}"} for label in labels for place in range(task.n_chains)]
    rows.add("loss_at_place", at_places.flatten(-2), len(batch), labels, split="test")


def partial_losses(
    task: ChainRetrieval, outputs: Float[Tensor, "*lead batch pos d_out"], batch: Batch
) -> Float[Tensor, "*lead symbol"]:
    """Squared error of each symbol that is asked for, averaged over its numbers, all queries and all rows."""
    wrong = (outputs - batch.targets)[..., batch.loss_mask, :].square()
    return wrong.unflatten(-1, (len(task.asked), task.d_symbol)).mean((-1, -3))


def losses_at_places(
    task: ChainRetrieval, outputs: Float[Tensor, "*lead batch pos d_out"], batch: Batch
) -> Float[Tensor, "*lead symbol place"]:
    """Squared error of each symbol that is asked for, by the place in its block of the pair that holds it as value.

    Every block has a pair at every place, so each number is over as many queries as there are rows.
    """
    row = torch.arange(len(batch))[:, None]
    wrong = (outputs - batch.targets)[..., row, batch.roles["queries"], :].square()  # [*lead batch chain d_out]
    wrong = wrong.unflatten(-1, (len(task.asked), task.d_symbol)).mean(-1)
    places = [batch.roles[f"key_{step - 1}"] // 2 % task.n_chains for step in task.asked]
    here = torch.stack([torch.nn.functional.one_hot(place, task.n_chains) for place in places], -1).to(wrong.dtype)
    return torch.einsum("...rcs,rcps->...sp", wrong, here) / len(batch)


def roles_of(task: ChainRetrieval) -> tuple[str, ...]:
    """The roles of positions with one position a chain, from the query on along the chain."""
    return ("queries", *(f"{part}_{step}" for step in range(task.n_steps) for part in ("value", "key")))


def links_of(task: ChainRetrieval) -> tuple[tuple[str, str], ...]:
    """From which role to which a head can look: every pair, the second never ahead of the first in any row."""
    far = {"queries": -1} | {f"{part}_{k}": k for k in range(task.n_steps) for part in ("key", "value")}
    behind = [(a, b) for a, b in product(roles_of(task), repeat=2) if far[a] < far[b]]
    return (*behind, *((f"value_{step}", f"key_{step}") for step in range(task.n_steps)))


def link_attention(
    pattern: Float[Tensor, "*lead batch head query key"], batch: Batch, link: tuple[str, str]
) -> tuple[Float[Tensor, "*lead head"], Float[Tensor, "*lead head"]]:
    """Mean attention along a link within a chain, and to the other chains' positions of the role, all together."""
    at, to = (batch.roles[role] for role in link)
    row = torch.arange(len(batch))[:, None, None]
    between = pattern.movedim(-3, -1)[..., row, at[:, :, None], to[:, None, :], :]  # [*lead batch from to head]
    own = between.diagonal(dim1=-3, dim2=-2).mean((-1, -3))
    every = between.sum(-2).mean((-2, -3))
    return own, every - own


def patterns_of(net: Network, batch: Batch) -> Float[Tensor, "ckpt batch head query key"]:
    """Where every head looks, in the order of ``Network.heads``."""
    keys = net.pattern_keys
    cache = net.record(batch, keys)
    return torch.cat([cache[key] for key in keys], -3)


def _add_attention(task: ChainRetrieval, net: Network, batch: Batch, rows: Rows) -> None:
    pattern = patterns_of(net, batch)
    for link in links_of(task):
        own, others = link_attention(pattern, batch, link)
        labels = [{**head, "site": ">".join(link)} for head in head_labels(net.heads)]
        rows.add("attention", own, len(batch) * task.n_chains, labels)
        rows.add("attention_elsewhere", others, len(batch) * task.n_chains, labels)
