"""Sections of the battery for permutation recall, on every checkpoint; other tasks get no rows.

How near the answers are to what a Bayesian would say, and whether the last one is remembered or found by elimination.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from circuitcore.metrics.instruments.sections import Session
from circuitcore.metrics.network import Network
from circuitcore.metrics.table import Rows
from circuitcore.tasks.base import Batch
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.tasks.permutation_posterior import marginal_posterior, train_posterior, uniform_posterior
from retrieval_circuits.permutation_recall.measures import scores as recall

MEASURED_SPLITS = ("test", "all")
ENTRIES_AT_ONCE = 4_000_000  # of row, slot and permutation, in which posteriors are found
Labels = list[dict[str, str]]


@dataclass(frozen=True, eq=False)
class Asked:
    """The rows of the measured splits, each different one once, and what to answer them with.

    Attributes:
        batch: the different rows.
        wanted: the right symbol at each step.
        uniform: the posterior of somebody to whom all permutations are equally likely.
        repeats: rows in which an x stands twice.
        place: split -> the place of each of its rows in ``batch``.
    """

    batch: Batch
    wanted: Int[Tensor, "row slot"]
    uniform: Float[Tensor, "row slot symbol"]
    repeats: Bool[Tensor, " row"]
    place: Mapping[str, Int[Tensor, " of_split"]]


@dataclass(frozen=True, eq=False)
class Priors:
    """What those who know the split say to the rows of "all" that have no repeat.

    Attributes:
        rows: the different ones, by their place in ``Asked``.
        train: by the permutations trained on.
        marginal: by how often each pair (x, y) is trained on.
        count: how often each row stands in the split.
        fits: whether some permutation trained on agrees with what was shown.
    """

    rows: Int[Tensor, " row"]
    train: Float[Tensor, "row slot symbol"]
    marginal: Float[Tensor, "row slot symbol"]
    count: Int[Tensor, " row"]
    fits: Bool[Tensor, "row slot"]


def recall_posterior(session: Session, net: Network, rows: Rows) -> None:
    """Each step's accuracy, loss, distance from the Bayesian who does not know the split, and leaning to those who do.

    The distance is the source's: means over batches of 256 rows (``bayes_mae``, ``bayes_max_batched``); ``bayes_max``
    is the true maximum. Of the last step also over the rows with and without repeat, dealt out to batches anew.
    """
    if not isinstance(session.task, PermutationRecall):
        return
    asked = _asked(session)
    logits = recall.symbols_apart(net.run(asked.batch).logits[:, :, asked.batch.roles["x"][0]])
    found = recall.probabilities(logits)
    error, loss = (found - asked.uniform).abs(), recall.loss(logits, asked.wanted)
    predicted = recall.likeliest_symbol(logits)
    values = {
        "hit": (predicted == asked.wanted).double(),
        "mean_error": error.mean(-1),
        "max_error": error.amax(-1),
    }
    for split, place in asked.place.items():
        _add_answers({name: value[:, place] for name, value in values.items()}, asked.repeats[place], rows, split)
        by_step = loss[:, place].mean(1)
        rows.add("step_loss", by_step, len(place), _steps(by_step.shape[-1]), split=split)
        rows.add("mean_loss", by_step.mean(-1), len(place), split=split)
    priors = _priors(session)
    _add_leaning(found[:, priors.rows], asked.uniform[priors.rows], priors, rows)
    _add_follows(predicted[:, priors.rows], priors, rows)


def recall_skills(session: Session, net: Network, rows: Rows) -> None:
    """At the last step: is the y of an x that stood before said again, and the y left over where no x did?"""
    if not asks_to_recall(session):
        return
    batches = {"normal": session.families["normal"], "repeat": probes(session)}
    answered = {family: recall.symbols_apart(net.answers(batch)) for family, batch in batches.items()}
    for family, batch in batches.items():
        p = recall.probabilities(answered[family])
        right = p.gather(-1, (batch.answers - 1).expand(p.shape[:-1])[..., None])[..., 0]
        rows.add("p_answer", right.mean(-1), len(batch), family=family)
    hits = recall.likeliest_symbol(answered["normal"]) == batches["normal"].answers
    rows.add("elimination", recall.share(hits), len(batches["normal"]), family="normal")
    for metric, hits in outcomes(recall.likeliest_symbol(answered["repeat"]), batches["repeat"]).items():
        add_by_source(rows, metric, hits, batches["repeat"], family="repeat")


def asks_to_recall(session: Session) -> bool:
    """Whether it is permutation recall whose last x is the repeated one, so that remembering shows at the read-out."""
    task = session.task
    return isinstance(task, PermutationRecall) and task.repeated == task.n_symbols - 1 and bool(session.families)


@functools.lru_cache(maxsize=4)
def probes(session: Session) -> Batch:
    """The family "repeat"; where only some slots are repeated in training, as many rows in which any is."""
    family, whole = session.families["repeat"], every_source(session.task)
    return family if whole == session.task else whole.probes("test", len(family))


def every_source(task: PermutationRecall) -> PermutationRecall:
    """The task with repeats of any slot, which has the same permutations."""
    return task if len(task.sources) == task.repeated else dataclasses.replace(task, repeat_sources=())


def outcomes(answers: Int[Tensor, "*lead row"], probes: Batch) -> dict[str, Bool[Tensor, "*lead row"]]:
    """What is said on rows with a repeat: the y that was shown with this x, the y never shown, or another one shown."""
    right, unused = answers == probes.answers, answers == unused_symbols(probes)
    return {"recall": right, "eliminates": unused, "other_shown": ~(right | unused)}


def unused_symbols(probes: Batch) -> Int[Tensor, " row"]:
    """The y that a row does not show."""
    shown = probes.tokens.gather(1, probes.roles["y"])
    return recall.unused_symbol(shown, shown.shape[1] + 1)


def add_by_source(rows: Rows, metric: str, hits: Bool[Tensor, "ckpt row"], probes: Batch, **common: str) -> None:
    """The share of hits over all probes, and by the slot that is repeated, counted from 1."""
    source = probes.variables["source"]
    rows.add(metric, recall.share(hits), len(probes), **common)
    for slot in source.unique().tolist():
        of_slot = source == slot
        rows.add(metric, recall.share(hits, of_slot), int(of_slot.sum()), variable=f"source {slot + 1}", **common)


def _add_answers(values: Mapping[str, Tensor], repeats: Bool[Tensor, " row"], rows: Rows, split: str) -> None:
    """Accuracy, and distance from the posterior; ``values [ckpt row slot]`` by name."""
    measured: Mapping[str, tuple[Tensor, Callable[[Tensor], Tensor]]] = {
        "step_accuracy": (values["hit"], lambda hits: hits.mean(1)),
        "bayes_mae": (values["mean_error"], recall.mean_over_batches),
        "bayes_max_batched": (values["max_error"], recall.max_over_batches),
        "bayes_max": (values["max_error"], lambda error: error.amax(1)),
    }
    families = {"normal": ~repeats, "repeat": repeats}
    for metric, (by_row, score) in measured.items():
        steps = _steps(by_row.shape[-1])
        rows.add(metric, score(by_row), len(repeats), steps, split=split)
        for family, members in families.items():
            if n := int(members.sum()):
                rows.add(metric, score(by_row[:, members, -1:]), n, steps[-1:], split=split, family=family)


def _add_leaning(
    found: Float[Tensor, "ckpt row slot symbol"], uniform: Float[Tensor, "row slot symbol"], priors: Priors, rows: Rows
) -> None:
    """How far the answers lean from the uniform posterior towards those of somebody who knows the split."""
    weight = priors.count[:, None] * priors.fits
    for edit, towards in (("", priors.train), ("marginal", priors.marginal)):
        value = recall.leaning(found, towards, uniform, weight)
        for step, label in enumerate(_steps(value.shape[-1])[:-1]):
            if value[:, step].isfinite().all():
                rows.add("leaning", value[:, step], int(weight[:, step].sum()), [label], split="all", edit=edit)


def _add_follows(predicted: Int[Tensor, "ckpt row slot"], priors: Priors, rows: Rows) -> None:
    """Share of rows answered with the commonest y of this x, of those in which only one of the unused y is that."""
    favourite, alone = recall.favourite(priors.marginal)
    count = priors.count[:, None] * alone
    for step, label in enumerate(_steps(predicted.shape[-1])):
        if n := int(count[:, step].sum()):
            hits = (predicted[..., step] == favourite[:, step]) * count[:, step]
            rows.add("follows_marginal", hits.sum(-1).double() / n, n, [label], split="all")


def _steps(n_steps: int) -> Labels:
    return [{"variable": f"step {step}"} for step in range(1, n_steps + 1)]


@functools.lru_cache(maxsize=4)  # the same for all checkpoints of all runs of an arm
def _asked(session: Session) -> Asked:
    batches = [session.splits[split] for split in MEASURED_SPLITS]
    tokens, targets = (torch.cat([getattr(batch, name) for batch in batches]) for name in ("tokens", "targets"))
    different, place = tokens.unique(dim=0, return_inverse=True)
    some = torch.empty(len(different), dtype=torch.int64)
    some[place] = torch.arange(len(tokens))  # any row of those with these tokens: they are alike in all else
    kinds = {name: torch.cat([batch.variables[name] for batch in batches])[some] for name in batches[0].variables}
    at = {name: batches[0].roles[name][0] for name in ("x", "read_out")}
    batch = Batch(
        tokens=different,
        targets=targets[some],
        loss_mask=batches[0].loss_mask[:1].expand(different.shape),
        roles={name: position.expand(len(different), *position.shape) for name, position in at.items()},
        variables=kinds,
    )
    places = place.split([len(batch) for batch in batches])
    return Asked(
        batch=batch,
        wanted=batch.targets.gather(1, batch.roles["x"]),
        uniform=recall.symbols_apart(uniform_posterior(session.task, batch)),
        repeats=kinds["source"] < session.task.n_symbols,
        place=dict(zip(MEASURED_SPLITS, places, strict=True)),
    )


@functools.lru_cache(maxsize=4)
def _priors(session: Session) -> Priors:
    """A part of the rows at a time: each is held against every permutation trained on."""
    task, asked = session.task, _asked(session)
    count = asked.place["all"].bincount(minlength=len(asked.batch)) * ~asked.repeats
    rows = count.nonzero()[:, 0]
    normal = asked.batch.rows(rows)
    at_once = max(1, ENTRIES_AT_ONCE // (task.n_symbols * len(task.permutations("train"))))
    parts = [train_posterior(task, normal.rows(slice(at, at + at_once))) for at in range(0, max(len(rows), 1), at_once)]
    train, fits = (torch.cat(part) for part in zip(*parts, strict=True))
    return Priors(rows, train, marginal_posterior(task, normal), count[rows], fits)
