"""The least loss that anybody can have on new rows of a stream, and how many tokens can be guessed right."""

from typing import Any

from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.stream_floor import Foreseen, foreseen_source, our_parts
from circuitcore.tasks.stream_kv import StreamKV
from retrieval_circuits.sgd_formation.measures.benchmark import Benchmark
from retrieval_circuits.sgd_formation.measures.sizes import SIZES

ALL = "all tokens"


def source_floor(params: Benchmark, seed: int) -> list[dict[str, Any]]:
    """The floor of the source's generator with another seed.

    Returns:
        Rows of ``split``, ``part`` of a stream ("structure": what comes and which key; "values"; all) and ``value``:
        nats a token, over all tokens.
    """
    task = StreamKV(seed=seed, n_train=params.n_train, n_eval=params.n_eval)
    return [row for split in ("train", "test_iid") for row in _rows(split, foreseen_source(task, split))]


def our_floor(params: Benchmark, seed: int) -> list[dict[str, Any]]:
    """The same of our stream, on fresh rows; and ``guessed``, the share of tokens that can be guessed right."""
    task = BalancedStream(**SIZES, seed=seed)
    splits = {"test": task.law, "structural_ood": task.ood_law}
    drawn = {split: our_parts(task, task.draw(split, params.n_eval, seed), law) for split, law in splits.items()}
    return [{**row, "guessed": found.token_accuracy} for split, found in drawn.items() for row in _rows(split, found)]


def _rows(split: str, found: Foreseen) -> list[dict[str, Any]]:
    tokens = found.n_targets.sum()
    parts = {part: float(nats.sum() / tokens) for part, nats in found.nats.items()}
    return [{"split": split, "part": part, "value": value} for part, value in {**parts, ALL: found.floor}.items()]
