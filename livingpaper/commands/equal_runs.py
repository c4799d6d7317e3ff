"""Whether a run that was made again is the published one, to the bit."""

from collections.abc import Iterable, Mapping, Sequence

from circuitcore.training.store.digests import table_sha256
from circuitcore.training.store.history import per_epoch
from circuitcore.training.store.run import Run


def equal_runs(new: Sequence[Run], published: Mapping[str, Run]) -> int:
    """How many new runs end in the weights of the published run of the same name, or compute the same tables."""
    return sum(_same_end(run, published[run.run_id]) for run in new if run.run_id in published)


def same_throughout(new: Run, old: Run) -> bool:
    """Whether weights are equal at every checkpoint, and so are losses step by step and every table of the new run.

    What claims read of the two is the same then. Of an experiment there are tables alone.
    """
    if not all(_same_table(new, old, key) for key in new.tables):
        return False
    return not new.ledger.trained or (_weights(new) == _weights(old) and _same_history(new, old))


def makers(runs: Iterable[Run]) -> tuple[str, ...]:
    """Library, torch and vector instructions that some runs were made with, each once."""
    return tuple(sorted({maker for run in runs for maker in run.ledger.made_with}))


def _same_end(new: Run, old: Run) -> bool:
    if new.ledger.trained:
        return new.ledger.last_hash == old.ledger.last_hash
    return all(_same_table(new, old, key) for key in new.tables)


def _same_table(new: Run, old: Run, key: str) -> bool:
    """Whether the published values are there again; a column that a table has got since is left out."""
    before, now = old.table(key), new.table(key)
    if before is None or not {*before.columns} <= {*now.columns}:
        return False
    return table_sha256(before) == table_sha256(now[[*before.columns]])


def _weights(run: Run) -> list[tuple[int, str]]:
    return [(entry.step, entry.sha256) for entry in run.ledger.entries]


def _same_history(new: Run, old: Run) -> bool:
    now = per_epoch(new.history) if old.ledger.history_thinned else new.history
    return table_sha256(now) == table_sha256(old.history)
