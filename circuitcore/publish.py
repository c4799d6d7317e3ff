"""``python -m circuitcore.publish STUDY``: ship a study's finished runs with the book, and record its verdicts.

Tables go whole, weights only at the epochs the study names. Everything that is copied is checked on the way.
"""

import argparse
from collections.abc import Sequence

from circuitcore import studies
from circuitcore.claims import to_json
from circuitcore.evidence import Evidence, Folders
from circuitcore.training.store import RunStore


def publish(name: str, folders: Folders) -> int:
    """Copy every run of a study's published tier from ``runs`` to ``published`` and judge its claims on the copies.

    Args:
        name: the study; its ``published_epochs(params)`` says, arm by arm, after which epochs weights are shipped.
        folders: where runs lie and where they go.

    Returns:
        Number of runs published.

    Raises:
        StoreError: a run is damaged. StudyError: no such study. LookupError: a run that was never trained or measured.
    """
    study, params = studies.load(name), studies.load_params(name)
    store, key, n_runs = RunStore(folders.runs, None), study.battery(params).key, 0
    epochs = study.published_epochs(params)
    for arm, recipes in study.recipes(params).items():
        for recipe in recipes:
            run = store.find(recipe)
            if run is None or key not in run.tables:
                raise LookupError(
                    f"{recipe.run_id} ({arm}) is not trained and measured: run circuitcore measure {name}"
                )
            ends = recipe.schedule.epoch_ends
            store.publish(run, folders.published, [ends[epoch] for epoch in epochs[arm]])
            n_runs += 1
    evidence = Evidence(name, params, folders)
    (results,) = evidence.gather(None)
    verdicts = [evidence.judged(claim, results) for claim in study.CLAIMS]
    path = folders.published / "verdicts" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(to_json(verdicts), encoding="utf-8")
    return n_runs


def main(argv: Sequence[str] | None = None) -> None:
    """Command line of this module."""
    parser = argparse.ArgumentParser(prog="python -m circuitcore.publish", description=__doc__)
    parser.add_argument("study", choices=studies.names())
    name = parser.parse_args(argv).study
    n_runs = publish(name, Folders.from_environment())
    print(f"published {n_runs} runs of {name} and recorded its verdicts")


if __name__ == "__main__":
    main()
