"""What is measured on networks that compose: which hops they answer, and what each layer has done by then."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.models import Ablate, Head, Patch, Site
from circuitcore.tasks.base import Batch, Interchange
from circuitcore.tasks.k_fold_composition import KFoldComposition

if TYPE_CHECKING:
    from circuitcore.training.store.run import Run


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many test rows are asked; each has as many queries as the task says.

    Attributes:
        n_rows: rows on which accuracy is measured.
    """

    n_rows: int


@dataclass(frozen=True, kw_only=True)
class Exchanges:
    """How many pairs of test rows are patched.

    Attributes:
        n_pairs: a base row and a source row each.
    """

    n_pairs: int


def hop_scores(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """Accuracy of every checkpoint by the number of hops asked for (variable ``hops_1``, ...), and the loss.

    Metrics, on the split "test", over all queries of the rows: ``accuracy``, one in N for whoever misses a hop, and
    ``loss``, the mean cross-entropy in nats, log N for whoever guesses among the symbols.
    """
    task = run.recipe.make_task()
    batch = task.split("test").rows(slice(0, counts.n_rows))
    _, _, hops = task.read(batch)
    tables = []
    for steps, net in stacks(run):
        rows = Rows(run.run_id, steps, [run.tokens_seen(step) for step in steps])
        logits = net.run(batch).logits[:, batch.loss_mask]
        right, loss = scores(logits, batch.targets[batch.loss_mask])
        for asked in range(1, task.n_hops + 1):
            chosen = hops.flatten() == asked
            rows.add("accuracy", right[:, chosen].mean(1), int(chosen.sum()), variable=f"hops_{asked}", split="test")
        rows.add("loss", loss, hops.numel(), split="test")
        tables.append(rows.frame())
        progress(len(steps))
    return pd.concat(tables, ignore_index=True)


def scores(
    logits: Float[Tensor, "ckpt query vocab"], targets: Int[Tensor, " query"]
) -> tuple[Float[Tensor, "ckpt query"], Float[Tensor, " ckpt"]]:
    """Whether each answer, the largest logit of all words, is right (1 or 0), and the mean cross-entropy in nats."""
    right = (logits.argmax(-1) == targets).float()
    chosen = logits.log_softmax(-1).gather(-1, targets.expand(len(logits), -1)[..., None])
    return right, -chosen.mean((1, 2))


def exchanges(run: "Run", how: Exchanges, progress: Callable[[int], None]) -> pd.DataFrame:
    """Whose answer comes out where the stream after a layer is taken from an unrelated row, at the last checkpoint.

    A base row and its source row have nothing in common but the number of hops that their last queries ask for
    (family ``hops_1``, ...). Metrics, the share of pairs whose answer is the one predicted, about one in N where the
    prediction is wrong; ``site`` is the stream that is replaced: "L0.resid_pre" before the first layer, "L0.resid_post"
    after it, and so on.

    * ``query_holds``: replaced where the last query stands. Variable ``x_h``: it holds where the source row stands
      after h hops, from which the base row's permutations lead on.
    * ``maps_hold``: replaced on all words of permutation j (variable ``maps_j``). Edit ``hops_m``: these words hold the
      source row's hops j - m + 1 to j in one; ``hops_0``: nothing changes.
    """
    task, step = run.recipe.make_task(), run.steps[-1]
    net = Network(run.recipe.model, run.stack((step,)))
    rows = Rows(run.run_id, (step,), [run.tokens_seen(step)])
    for pairs in task.interchanges(how.n_pairs):
        add_exchanges(task, net, pairs, rows)
    progress(1)
    return rows.frame()


def add_exchanges(task: KFoldComposition, net: Network, pairs: Interchange, rows: Rows) -> None:
    """The rows of ``exchanges`` for one number of hops; ``net`` is a stack of one checkpoint."""
    streams = {"L0.resid_pre": Site("resid_pre", 0)}
    streams |= {f"L{layer}.resid_post": Site("resid_post", layer) for layer in range(net.config.n_layers)}
    predicted = predictions(task, pairs)
    asked = [(name, role) for name in streams for role in predicted]
    source = net.run(pairs.source, [site.key for site in streams.values()]).cache
    edits = [(Patch(streams[name], role, "source"),) for name, role in asked]
    found = net.answers_under(pairs.base, edits, {"source": source}).logits[:, 0].argmax(-1)
    for (name, role), answers in zip(asked, found, strict=True):
        metric = "query_holds" if role == "read_out" else "maps_hold"
        labels, expected = [dict(label) for label in predicted[role]], torch.stack([*predicted[role].values()])
        shares = (answers == expected).float().mean(1)
        rows.add(metric, shares[None], len(answers), labels, site=name, family=pairs.name, split="test")


def removals(run: "Run", counts: Counts, progress: Callable[[int], None]) -> pd.DataFrame:
    """What each head of the last layer costs where it is removed, at the last checkpoint, by what a query passes.

    A removed head gives each query what it gives on average to queries that ask for as many hops. Its cost is the share
    of queries that are right with it less the share without; below 0 where it is in the way. All queries of the split
    "test" that ask for three or four hops (family ``hops_3``, ``hops_4``). Hop j of a query is the pair of symbols
    between which it goes then, one of N * N.

    Metrics:

    * ``costs``: of each ``head``, for each last hop (variable "a>c": from a to c).
    * ``own_head``: for each j (variable ``hop_j``), the cost of the head that queries with the same hop j need most,
      mean over those hops; chosen on every other query, measured on the rest. About the largest mean cost of a head
      where heads do not share out that hop.
    * ``other_heads``: the mean cost of the others there.
    """
    task, step = run.recipe.make_task(), run.steps[-1]
    rows = Rows(run.run_id, (step,), [run.tokens_seen(step)])
    net = Network(run.recipe.model, run.stack((step,)))
    add_removals(task, net, task.split("test").rows(slice(0, counts.n_rows)), rows)
    progress(1)
    return rows.frame()


def add_removals(task: KFoldComposition, net: Network, batch: Batch, rows: Rows) -> None:
    """The rows of ``removals``; ``net`` is a stack of one checkpoint."""
    shown, start, asked = task.read(batch)
    walks, costs = task.walk(shown, start), head_costs(net, batch, asked)
    words = [{"variable": f"{a}>{b}"} for a, b in product(task.vocab[: task.n_symbols], repeat=2)]
    for hops in (3, 4):
        chosen = asked == hops
        common, walk, cost = {"family": f"hops_{hops}", "split": "test"}, walks[chosen], costs[:, chosen]
        kinds = walk[:, :-1] * task.n_symbols + walk[:, 1:]  # of each hop
        for head, by_kind in enumerate(mean_by(cost, kinds[:, hops - 1], len(words))):
            rows.add("costs", by_kind[None], cost.shape[1], words, layer=net.config.n_layers - 1, head=head, **common)
        for hop in range(1, hops + 1):
            own, others = own_and_others(cost, kinds[:, hop - 1], len(words))
            rows.add("own_head", own[None], cost.shape[1], variable=f"hop_{hop}", **common)
            rows.add("other_heads", others[None], cost.shape[1], variable=f"hop_{hop}", **common)


def head_costs(net: Network, batch: Batch, asked: Int[Tensor, "row query"]) -> Float[Tensor, "head row query"]:
    """Of each head of the last layer: 1 where a query is right with it alone, -1 where without it alone, 0 else.

    Without it queries have its mean over those that ask for as many hops.
    """
    layer, scored = net.config.n_layers - 1, batch.loss_mask
    site = Site("z", layer).key
    output = net.run(batch, [site])
    mean = output.cache[site].clone()
    by_hops = mean_by(mean[0, scored].movedim(0, -1), asked.flatten(), int(asked.max()) + 1)
    mean[0, scored] = by_hops[..., asked.flatten()].movedim(-1, 0)
    removed = [(Ablate(Head(layer, head), "mean"),) for head in range(net.config.n_heads)]
    passes = net.passes(batch, removed, {"mean": {site: mean}}, output.cache)
    without = torch.cat([found.logits[:, 0, scored].argmax(-1) for found in passes])
    right, still = (
        (answer == batch.targets[scored]).float() for answer in (output.logits[0, scored].argmax(-1), without)
    )
    return (right - still).unflatten(1, asked.shape)


def mean_by(
    values: Float[Tensor, "*lead query"], kinds: Int[Tensor, " query"], n_kinds: int
) -> Float[Tensor, "*lead kind"]:
    """The mean of the queries of each kind; NaN where there is none."""
    member = torch.nn.functional.one_hot(kinds, n_kinds).to(values.dtype)
    return values @ member / member.sum(0)


def own_and_others(
    cost: Float[Tensor, "head query"], kinds: Int[Tensor, " query"], n_kinds: int
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Cost of the head that queries of a kind need most, and the mean of the others': means over kinds that there are.

    The head is chosen on every other query and measured on the rest.
    """
    own = mean_by(cost[:, ::2], kinds[::2], n_kinds).nan_to_num().argmax(0, keepdim=True)
    measured = mean_by(cost[:, 1::2], kinds[1::2], n_kinds)
    chosen = measured.gather(0, own)[0]
    return chosen.nanmean(), ((measured.sum(0) - chosen) / (len(cost) - 1)).nanmean()


Label = tuple[tuple[str, str], ...]
"""Columns of a table that tell a prediction, as pairs of name and word."""


def predictions(task: KFoldComposition, pairs: Interchange) -> dict[str, Mapping[Label, Int[Tensor, " row"]]]:
    """The answer of each row by what the replaced stream may hold: role that is replaced -> labels -> answers.

    Of permutations only those that the query needs.
    """
    hops = int(pairs.name.removeprefix("hops_"))
    (mine, _, _), (other, _, _) = (task.read(batch) for batch in (pairs.base, pairs.source))
    start = pairs.base.variables["x_0"]
    found = {"read_out": {(("variable", name),): answers for name, answers in pairs.expected.items()}}
    for hop in range(1, hops + 1):
        found[f"maps_{hop}"] = {
            (("variable", f"maps_{hop}"), ("edit", f"hops_{done}")): task.go_on(
                mixed(mine, other, hop, done), start, 0, hops
            )
            for done in range(hop + 1)
        }
    return found


def mixed(
    mine: Int[Tensor, "row hop x"], other: Int[Tensor, "row hop x"], hop: int, done: int
) -> Int[Tensor, "row hop x"]:
    """The permutations of rows of which the last ``done`` up to number ``hop`` are those of other rows."""
    swapped = mine.clone()
    swapped[:, hop - done : hop] = other[:, hop - done : hop]
    return swapped
