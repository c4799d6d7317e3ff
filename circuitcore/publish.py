"""``python -m circuitcore.publish STUDY``: ship a study's finished runs with the book, and record its verdicts.

Tables go whole, weights only at the epochs the study names. Everything that is copied is checked on the way.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from types import ModuleType

from pydantic import BaseModel

from circuitcore import studies
from circuitcore.claims import to_json
from circuitcore.durations import Durations
from circuitcore.evidence import Evidence, Folders
from circuitcore.progress import SILENT, Watch, in_all, one_by_one
from circuitcore.training.run import Run
from circuitcore.training.store import RunStore


def publish(name: str, folders: Folders, watch: Watch | None = None) -> int:
    """Copy every run of a study's published tier from ``runs`` to ``published`` and judge its claims on the copies.

    Args:
        name: the study; its ``published_epochs(params, arm, seed)`` says after which epochs weights are shipped.
        folders: where runs lie and where they go.
        watch: told the expected time once a few runs are copied, then shows a bar; None for silence.

    Returns:
        Number of runs published.

    Raises:
        StoreError: a run is damaged. StudyError: no such study. LookupError: a run that was never trained or measured.
    """
    study, params, durations = studies.load(name), studies.load_params(name), Durations.of(folders.root)
    steps = _published_steps(study, params, RunStore(folders.runs, None), name)
    judging = f"judge {name}"

    def told(seconds: float) -> str:
        return in_all({f"copying {len(steps)} runs": seconds, "judging": durations.expected([judging]).get(judging)})

    def copy(run: Run) -> Run:
        return RunStore(folders.runs, None).publish(run, folders.published, steps[run])

    loads = {run: float(1 + len(kept)) for run, kept in steps.items()}
    copies = list(one_by_one(copy, loads, watch or SILENT, told))
    with durations.timed(judging):
        evidence = Evidence(name, params, folders)
        (results,) = evidence.gather(None)
        verdicts = [evidence.judged(claim, results) for claim in study.CLAIMS]
    path = folders.published / "verdicts" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(to_json(verdicts), encoding="utf-8")
    return len(copies)


def _published_steps(study: ModuleType, params: BaseModel, store: RunStore, name: str) -> dict[Run, list[int]]:
    """Every run of the study, and the steps at which its weights are shipped."""
    steps = {}
    for arm, recipes in study.recipes(params).items():
        key = study.battery(params, arm).key
        for recipe in recipes:
            run = store.find(recipe)
            if run is None or key not in run.tables:
                raise LookupError(
                    f"{recipe.run_id} ({arm}) is not trained and measured: run circuitcore measure {name}"
                )
            epochs = study.published_epochs(params, arm, recipe.init_seed)
            steps[run] = [recipe.schedule.epoch_ends[epoch] for epoch in epochs]
    return steps


def main(argv: Sequence[str] | None = None) -> None:
    """Command line of this module."""
    parser = argparse.ArgumentParser(prog="python -m circuitcore.publish", description=__doc__)
    parser.add_argument("study", choices=studies.names())
    name = parser.parse_args(argv).study
    n_runs = publish(name, Folders.from_environment(), Watch(say=partial(print, flush=True)))
    print(f"published {n_runs} runs of {name} and recorded its verdicts")


if __name__ == "__main__":
    main()
