"""Numbers that the sentences on networks of words name, beside those of their verdicts."""

from collections.abc import Mapping
from math import log

import pandas as pd

from circuitcore.tasks.chain_prompts import FORMULATIONS
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.stacked_heads.design import EQUATIONS, RELATIVES, Params, share_repeated
from retrieval_circuits.stacked_heads.design.words import (
    CORPORA,
    D_MODEL,
    longest_asked,
    n_passes,
    word_steps,
    word_task,
)
from retrieval_circuits.stacked_heads.figures.words import LOOK_UPS
from retrieval_circuits.stacked_heads.published import WIDTH
from retrieval_circuits.stacked_heads.readings.words import HALFWAY, first_fewer

KINDS = {"equations": "F1", "relatives": "F5"}


def fewer_first(results: Results) -> View:
    """One or zero for each network of equations: whether it answered fewer look-ups first; NaN: it answers no two."""
    networks = [(seed, str(arm)) for arm in EQUATIONS for seed in results.seeds(str(arm))]
    index = pd.MultiIndex.from_tuples(networks, names=["init_seed", "arm"])
    rows = first_fewer(results).astype(float).reindex(index).rename("value").reset_index()
    return View(rows, "yes or no", "test")


def loss_on_relatives(results: Results) -> View:
    """Training loss of networks of relatives, a mean over the last pass through their rows."""
    rows = results.history[results.history["arm"].isin([str(arm) for arm in RELATIVES])]
    last = rows[rows["epoch"] == rows.groupby("run_id", observed=True)["epoch"].transform("max")]
    mean = last.groupby(["arm", "init_seed"], as_index=False, observed=True)["loss"].mean()
    return View(mean.rename(columns={"loss": "value"}), "nats", "training rows")


def numbers(params: Params, views: Mapping[str, View]) -> dict[str, str]:
    """Name in the prose -> number in words, from views of ``NEEDED``; of published runs where a reader's are beside."""
    answers, ordered, loss = (views[name].published for name in NEEDED)
    ordered = ordered.dropna(subset="value")
    task = word_task(params, KINDS["equations"])
    return {
        "d_model_vectors": f"{params.d_model}",
        "d_model_words": f"{D_MODEL}",
        "d_model_source": f"{WIDTH}",
        "repeated": f"{100 * share_repeated():.0f} %",
        "length_trained": f"{task.max_length}",
        "length_functions": f"{longest_asked(task)}",
        **_trained(params),
        **_that_answer(answers),
        "n_answer_two": f"{len(ordered)}",
        "n_seeds_answer_two": f"{ordered['init_seed'].nunique()}",
        "loss_on_relatives": f"{loss['value'].min():.2f} to {loss['value'].max():.2f}",
        "loss_of_a_guess": f"{log(len(FORMULATIONS[KINDS['relatives']].acceptable)):.2f}",
    }


def _trained(params: Params) -> dict[str, str]:
    """How long networks of words are trained, by what they are trained on."""
    found = {}
    for kind, name in KINDS.items():
        found[f"n_steps_{kind}"] = f"{word_steps(params, name):,}"
        found[f"batch_{kind}"] = f"{CORPORA[name].batch_size}"
        found[f"n_passes_{kind}"] = f"{n_passes(params, name)}"
    return found


def _that_answer(answers: pd.DataFrame) -> dict[str, str]:
    """``n_3_answer_2``: how many networks of three layers answer two look-ups at the end, of how many."""
    found = {}
    for arm in EQUATIONS:
        for count, series in enumerate(LOOK_UPS.values(), 1):
            right = answers.loc[(answers["group"] == arm.depth) & (answers["series"] == series), "value"] > HALFWAY
            found[f"n_{arm.n_layers}_answer_{count}"] = f"{right.sum()} of {len(right)}"
    return found


NEEDED = ("words", "fewer_first", "loss_on_relatives")
"""Names of the views that ``numbers`` reads."""
WORD_PROSE_VIEWS = {view.__name__: view for view in (fewer_first, loss_on_relatives)}
