"""The explorer of the chapter: the networks of the matrix whose weights are shipped."""

from collections.abc import Iterator, Sequence
from functools import partial

from circuitcore.tasks.textual_kv import LONGER
from livingpaper.explorer.exhibit import Exhibit, ShownRun, spread_examples
from livingpaper.explorer.material import Material, births_of
from livingpaper.explorer.retrieval_path import retrieval_path
from retrieval_circuits.lookup_circuit import PLAN
from retrieval_circuits.six_run_matrix.circuit import NOTE, link_tests
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings.births import SHOWN, corrected_births

SPLITS = {"accuracy, held out": "val", "accuracy, four pairs": LONGER}
OPENS_ON = "on"
CLAIMS = {"See it appear.": ("SR7",), "Compare.": ("SR16",)}
"""Stop -> what is known of many networks about what it shows of one."""


def explorer(materials: Sequence[Material]) -> Exhibit:
    """Both curricula; it opens on the curriculum's run whose weights are shipped through training."""
    shown = tuple(run for material in materials for run in _runs(material))
    opened = materials[0].by_checkpoints(OPENS_ON)
    task = opened[0].recipe.make_task()
    examples = (*spread_examples(task, "val", 4), *spread_examples(task, LONGER, 2))
    path = retrieval_path(opened, examples[0].prompt, lit=("matches",), claims=CLAIMS)
    return Exhibit(
        name="explorer-six-run-matrix", task=task, shown=shown, examples=examples, opening={"run": opened[0].run_id},
        path=path, plan=PLAN,
    )  # fmt: skip


def _runs(material: Material) -> Iterator[ShownRun]:
    born = corrected_births(material.results)
    for arm in MATRIX:
        tests = material.tests(arm, partial(link_tests, arm=arm))
        for run in material.runs(arm):
            births = births_of(born[born["arm"] == arm], run, {motif: motif for motif in SHOWN}, in_epochs=True)
            condition = material.condition(arm, f"curriculum {arm}")
            yield ShownRun(
                run=run,
                condition=condition,
                curves=material.retrieval_curves(run, SPLITS),
                births=births,
                note=NOTE,
                tests=tests[run.run_id],
            )
