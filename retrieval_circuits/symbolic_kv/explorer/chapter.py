"""The explorer of the chapter: every network whose weights are shipped, and the look-up taken apart."""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import pandas as pd

from circuitcore.training.store.run import Run
from livingpaper.claims.results import Results
from livingpaper.explorer.exhibit import Exhibit, spread_examples
from livingpaper.explorer.material import Material, births_of
from livingpaper.explorer.retrieval_path import retrieval_path
from livingpaper.explorer.shown_run import Birth, ShownRun
from retrieval_circuits.lookup_circuit import PLAN
from retrieval_circuits.published_gate import OPEN, OURS, SHUT
from retrieval_circuits.symbolic_kv.circuit import link_tests
from retrieval_circuits.symbolic_kv.design import ARMS, TORCH, TRAINED
from retrieval_circuits.symbolic_kv.readings import ANSWERS, COPIES, ROUTES, births_at_first_crossing, motif_births

TWO_LAYERS = (TORCH, TRAINED)
"""Arms of networks that have the circuit; the first has weights from all of training."""
SPLITS = {"accuracy, held out": "val", "accuracy, more pairs": "ood"}

BIRTHS = {ANSWERS: "answers", ROUTES: "routes", COPIES: "copies"}
CLAIMS = {"Switch heads off.": ("KV4",), "Move the answer.": ("KV3",), "Compare.": ("KV1",)}
"""Stop -> what is known of many networks about what it does with one."""


def explorer(materials: Sequence[Material]) -> Exhibit:
    """Networks of all arms; it opens on the first trained one whose weights are shipped through training."""
    arms = (*TWO_LAYERS, *(arm for arm in ARMS if arm not in TWO_LAYERS))
    shown = tuple(run for material in materials for arm in arms for run in runs_shown(material, arm))
    trained = materials[0].by_checkpoints(*TWO_LAYERS)
    task = trained[0].recipe.make_task()
    examples = (*spread_examples(task, "val", 4), *spread_examples(task, "ood", 2))
    path = retrieval_path(trained, examples[0].prompt, lit=("matches",), claims=CLAIMS)
    return Exhibit(
        name="explorer-symbolic-kv", task=task, shown=shown, examples=examples, opening={"run": trained[0].run_id},
        path=path, plan=PLAN,
    )  # fmt: skip


def _by_rule(results: Results, arm: str) -> dict[str, pd.DataFrame]:
    """Births of an arm's runs by each rule."""
    return {
        OURS: motif_births(results, arm),
        SHUT: births_at_first_crossing(results, "published", arm),
        OPEN: births_at_first_crossing(results, "none", arm),
    }


def _births(tables: Mapping[str, pd.DataFrame], run: Run) -> tuple[Birth, ...]:
    return tuple(birth for rule, table in tables.items() for birth in births_of(table, run, BIRTHS, rule=rule))


@lru_cache(maxsize=2 * len(ARMS))  # the front page shows some of the chapter's: tested and packed once
def runs_shown(material: Material, arm: str) -> tuple[ShownRun, ...]:
    """The networks of an arm, with their births and what tests say of them."""
    runs, tests, births = material.runs(arm), {}, {}
    if runs and arm in TWO_LAYERS:
        tests, births = material.tests(arm, partial(link_tests, arm=arm)), _by_rule(material.results, arm)
    return tuple(
        ShownRun(
            run=run,
            condition=material.condition(arm, ARMS[arm]),
            curves=material.retrieval_curves(run, SPLITS),
            births=_births(births, run),
            tests=tests.get(run.run_id, {}),
        )
        for run in runs
    )
