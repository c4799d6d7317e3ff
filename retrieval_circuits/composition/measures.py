"""What is measured on networks that compose: which hops they answer, and what each layer has done by then."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.metrics.instruments.battery import stacks
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores.groups import mean_by
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

    A removed head gives each query what it gives on average to queries that ask for as many hops: what it adds for all
    of them alike stays. Its cost is the share of queries that are right with it less the share that are right without;
    below 0 where it is in the way. All queries of the split "test" that ask for three or four hops (family ``hops_3``,
    ``hops_4``) are asked.

    Metrics:

    * ``costs``: of each ``head``, for each last hop (variable "a>c": from a to c; NaN where no query makes it).
    * ``own_head``: the cost of the head that queries of a kind need most, a mean over kinds. Heads are chosen on every
      other row and measured on the rest. Kinds (variable) are the symbols between which hop j goes (``hop_j``), or the
      symbol at which a query stands after j hops (``x_j``).
    * ``one_head``: the same of the one head that all kinds together need most. As large as ``own_head`` where heads
      are needed by all kinds alike.
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
    walks, costs, size = task.walk(shown, start), head_costs(net, batch, asked), task.n_symbols
    is_even = (torch.arange(len(batch)) % 2 == 0)[:, None].expand_as(asked)
    words = [{"variable": f"{a}>{b}"} for a, b in product(task.vocab[:size], repeat=2)]
    for hops in (3, 4):
        chosen = asked == hops
        walk, cost, even = walks[chosen], costs[:, chosen], is_even[chosen]
        common = {"family": f"hops_{hops}", "split": "test"}
        kinds = {f"x_{hop}": walk[:, hop] for hop in range(hops + 1)}
        kinds |= {f"hop_{hop}": walk[:, hop - 1] * size + walk[:, hop] for hop in range(1, hops + 1)}
        for head, by_kind in enumerate(mean_by(cost, kinds[f"hop_{hops}"], len(words))):
            rows.add("costs", by_kind[None], len(walk), words, layer=net.config.n_layers - 1, head=head, **common)
        for name, kind in kinds.items():
            own, one = own_and_one(cost, kind, even)
            rows.add("own_head", own[None], int((~even).sum()), variable=name, **common)
            rows.add("one_head", one[None], int((~even).sum()), variable=name, **common)


def head_costs(net: Network, batch: Batch, asked: Int[Tensor, "row query"]) -> Float[Tensor, "head row query"]:
    """Of each head of the last layer: 1 where a query is right only with it, -1 where only without it, 0 else.

    Without it queries have its mean over those that ask for as many hops.
    """
    layer, scored = net.config.n_layers - 1, batch.loss_mask
    site = Site("z", layer).key
    output = net.run(batch, [site])
    replaced = output.cache[site].clone()
    by_hops = mean_by(replaced[0, scored].movedim(0, -1), asked.flatten(), int(asked.max()) + 1)
    replaced[0, scored] = by_hops[..., asked.flatten()].movedim(-1, 0)
    removed = [(Ablate(Head(layer, head), "mean"),) for head in range(net.config.n_heads)]
    passes = net.passes(batch, removed, {"mean": {site: replaced}}, output.cache)
    without = torch.cat([found.logits[:, 0, scored] for found in passes])
    right, still = (scores(logits, batch.targets[scored])[0] for logits in (output.logits[:, scored], without))
    return (right - still).unflatten(1, asked.shape)


def own_and_one(
    cost: Float[Tensor, "head query"], kinds: Int[Tensor, " query"], chooses: Bool[Tensor, " query"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Cost of the head that queries of a kind need most, and of the one that all kinds need most: means over kinds.

    Args:
        cost: of each head, for each query.
        kinds: of queries.
        chooses: the queries by which heads are chosen; they are measured on the others, on the kinds that both have.
    """
    n_kinds = int(kinds.max()) + 1
    chosen, measured = (mean_by(cost[:, some], kinds[some], n_kinds) for some in (chooses, ~chooses))
    both = ~(chosen[0].isnan() | measured[0].isnan())
    chosen, measured = chosen[:, both], measured[:, both]
    own = measured.gather(0, chosen.argmax(0, keepdim=True))
    return own.mean(), measured[chosen.mean(1).argmax()].mean()


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
