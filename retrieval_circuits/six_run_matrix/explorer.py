"""The explorer of the chapter: the networks of the matrix whose weights are shipped."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pandas as pd

from circuitcore.tasks.textual_kv import LONGER
from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.exhibit import Exhibit, PathStep, spread_examples
from livingpaper.explorer.material import Material, births_of
from livingpaper.explorer.retrieval_path import retrieval_path
from livingpaper.explorer.shown_run import Birth, ShownRun
from retrieval_circuits.lookup_circuit import PLAN
from retrieval_circuits.published_gate import OPEN, OURS, SHUT, gate_stop
from retrieval_circuits.six_run_matrix.circuit import NOTE, link_tests
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.figures.matrix import called
from retrieval_circuits.six_run_matrix.readings.births import (
    COPYING,
    ROUTING,
    SHOWN,
    corrected_births,
    published_births,
)

SPLITS = {"accuracy, held out": "val", "accuracy, four pairs": LONGER}
OPENS_ON, WITHOUT_CURRICULUM = "on", "off"
CLAIMS = {"See it appear.": ("SR7",), "Compare.": ("SR16",)}
"""Stop -> what is known of many networks about what it shows of one."""


def explorer(materials: Sequence[Material]) -> Exhibit:
    """Both curricula; it opens on the curriculum's run whose weights are shipped through training."""
    shown = tuple(run for material in materials for run in _runs(material))
    opened = materials[0].by_checkpoints(OPENS_ON)
    task = opened[0].recipe.make_task()
    examples = (*spread_examples(task, "val", 4), *spread_examples(task, LONGER, 2))
    path = (*retrieval_path(opened, examples[0].prompt, lit=("matches",), claims=CLAIMS), _gate(materials[0], shown))
    return Exhibit(
        name="explorer-six-run-matrix", task=task, shown=shown, examples=examples, opening={"run": opened[0].run_id},
        path=path, plan=PLAN,
    )  # fmt: skip


def _gate(material: Material, shown: Sequence[ShownRun]) -> PathStep:
    """Births of the first network without a curriculum, as the figure below the explorer has them."""
    run = material.run(WITHOUT_CURRICULUM)
    of_run = next(one for one in shown if one.run.run_id == run.run_id)
    gated, state = {motif: motif for motif in (COPYING, ROUTING)}, {"run": run.run_id, "step": run.steps[-1]}
    return gate_stop(of_run, gated, state, ("SR6",))


def _by_rule(results: Results) -> dict[str, pd.DataFrame]:
    """Births of all runs by each rule."""
    return {
        OURS: corrected_births(results), SHUT: published_births(results), OPEN: published_births(results, gate=False),
    }  # fmt: skip


def _births(tables: Mapping[str, pd.DataFrame], arm: str, run: Run) -> tuple[Birth, ...]:
    labels = {motif: called(motif) for motif in SHOWN}
    return tuple(
        birth
        for rule, table in tables.items()
        for birth in births_of(table[table["arm"] == arm], run, labels, in_epochs=True, rule=rule)
    )


def _runs(material: Material) -> Iterator[ShownRun]:
    tables = _by_rule(material.results)
    for arm in MATRIX:
        tests = material.tests(arm, partial(link_tests, arm=arm))
        for run in material.runs(arm):
            condition = material.condition(arm, f"curriculum {arm}")
            yield ShownRun(
                run=run,
                condition=condition,
                curves=material.retrieval_curves(run, SPLITS),
                births=_births(tables, arm, run),
                note=NOTE,
                tests=tests[run.run_id],
            )
