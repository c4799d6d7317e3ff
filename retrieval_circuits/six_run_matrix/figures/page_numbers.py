"""What the chapter's page prints of its design and of the views behind its figures, by the name under which it has it.

Those of the published runs where the reader's stand under them.
"""

from livingpaper.claims.view import View
from retrieval_circuits.six_run_matrix.design import (
    MATRIX,
    N_ON_IT,
    SOURCE_DATA_SET,
    Params,
    checkpoint_epochs,
    data_set_of,
    published_epochs,
    recipes,
)
from retrieval_circuits.six_run_matrix.figures.matrix import (
    AT_THE_END,
    LEFT_OUT,
    NO_SLOT,
    OURS,
    THEIRS,
    mean_and_interval,
    never_of,
)
from retrieval_circuits.six_run_matrix.figures.pilot import OURS as OUR_RUNS
from retrieval_circuits.six_run_matrix.figures.pilot import TRAINED_ON

GUESSING, ANSWERING = 0.6, 0.9
"""Accuracy on prompts of two pairs from which a network no longer guesses (one half), and from which it answers."""
ABRUPT, GRADUAL = 1, 3
"""Epochs between the two: at most so many are abrupt, at least so many gradual."""


def drawn_numbers(birth_rows: View) -> dict[str, str]:
    """Of ``matrix.birth_rows``: how far apart the births that it draws lie, in the mean of its networks, in epochs."""
    rows, found = birth_rows.published, {}
    for name, panel in {"ours": OURS, "source": THEIRS}.items():
        of_panel = rows[rows["panel"] == panel]
        epochs = of_panel.groupby("init_seed")["value"]
        found[f"drawn_{name}"] = f"{(epochs.max() - epochs.min()).mean():.0f}"
        found[f"never_{name}"] = never_of(of_panel["value"])
    return found | {"n_drawn": str(rows["init_seed"].nunique())}


def transition_numbers(pilot: View) -> dict[str, str]:
    """Of ``pilot.transition``: how fast networks pass from guessing to answering the prompts they are trained on.

    A network that does not get there within the stage counts as gradual.
    """
    rows = pilot.published
    rows = rows[(rows["panel"] == TRAINED_ON) & (rows["series"] == OUR_RUNS)]
    first = {least: rows[rows["value"] >= least].groupby("init_seed")["epoch"].min() for least in (GUESSING, ANSWERING)}
    seeds = rows["init_seed"].unique()
    took = (first[ANSWERING] - first[GUESSING]).reindex(seeds)
    gradual = took.isna() | (took >= GRADUAL)
    return {"abrupt": f"{(took <= ABRUPT).sum()} of {len(seeds)}", "gradual": f"{gradual.sum()} of {len(seeds)}"}


def numbers_of_the_design(params: Params) -> dict[str, int | str]:
    """What the page prints of what is trained, on how many data sets, and how much of it is shipped."""
    cells = {*params.cell_seeds, *params.more_cell_seeds}
    trained = recipes(params.model_copy(update={"seeds": params.seeds[:1]}))["off"][0]
    return {
        "d_model": trained.model.d_model,
        "d_mlp": trained.model.d_mlp,
        "n_tokens": trained.model.d_vocab,
        "n_train": f"{params.n_train:,}",
        "rate": f"{trained.optimizer.lr:g}",
        "batch": trained.batch_size,
        "n_checkpoints": len(checkpoint_epochs(params.epochs)),
        "n_shipped": len(published_epochs(params, "on", params.seeds[0])),
        "n_longer": params.n_bases,
        "n_on_source": sum(seed < N_ON_IT for seed in params.seeds),
        "n_data_sets": len({data_set_of(seed) for seed in params.seeds}),
        "n_cells_elsewhere": sum(data_set_of(seed) != SOURCE_DATA_SET for seed in cells),
    }


def unborn_numbers(unborn: View) -> dict[str, str]:
    """What the page prints of ``matrix.unborn``: distances by the source's rule, whole and without its gate.

    Beside them those with unborn motifs at the end, and those without the slot.

    Those of the published runs where the reader's stand under them.
    """
    rows = unborn.table.drop_duplicates("definition").set_index("definition")
    of = {"source": "the source's", "ungated": "the source's, without its gate", "ours": "this chapter's"}
    at_end = {f"at_end_{name}": rows[AT_THE_END][of[name]] for name in ("source", "ours")}
    left_out = {"apart_source": rows[LEFT_OUT][of["source"]], "ungated": rows[LEFT_OUT][of["ungated"]]}
    return left_out | at_end | {f"no_slot_{name}": rows[NO_SLOT][definition] for name, definition in of.items()}


def delays(apart: View) -> dict[str, str]:
    """What the page prints of ``inference.apart``: pairs that are delayed, and steps, of the median one and at most.

    Those of the published runs where the reader's stand under them.
    """
    rows = apart.table[apart.table["arm"].isin(MATRIX)].drop_duplicates(["arm", "init_seed"])
    wide = rows.pivot(index="init_seed", columns="arm", values="value")
    later = wide["on"] - wide["off"]
    return {
        "n_delayed": f"{(later > 0).sum()} of {len(later)}",
        "median_delay": f"{later.median():,.0f}",
        "largest_delay": f"{later.max():,.0f}",
        "delay_without": mean_and_interval(later[later < later.max()]),
    }
