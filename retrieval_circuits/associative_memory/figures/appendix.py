"""The tables behind the appendix that no figure of the chapter is of."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, beside
from retrieval_circuits.associative_memory.design import HIDDEN_SIZES, NARROW, PLACES, RECALL, SOURCE_WAY, SOURCES
from retrieval_circuits.associative_memory.measures import NEAR
from retrieval_circuits.associative_memory.measures.layer import Layer
from retrieval_circuits.associative_memory.published import PUBLISHED
from retrieval_circuits.associative_memory.readings.hidden import ends_at
from retrieval_circuits.associative_memory.readings.memories import trained_load

MOST_UNITS = max(size for size in HIDDEN_SIZES if size[0] == NARROW)
"""d and hidden units of the MLP that is compared: the one of the chapter's claims."""


def numbers(results: Results) -> View:
    """The sources' numbers beside ours."""
    rows = results.rows(RECALL, way=SOURCE_WAY).sort_values("step")
    purest = rows.loc[rows.groupby("init_seed")["from_guess"].idxmin()]
    guessing = rows[rows["from_guess"] < NEAR].groupby("init_seed")["step"]
    ours = {
        "N ln N / d² up to which a trained matrix recalls": trained_load(SOURCES, longest=True)(results),
        "N ln N / md up to which an MLP recalls": ends_at(MOST_UNITS)(results),
        "loss at the start, nats": rows.groupby("init_seed")["loss"].first(),
        "loss where guessing is purest, nats": purest.set_index("init_seed")["loss"],
        "step at which guessing begins": guessing.min(),
        "step at which guessing ends": guessing.max(),
        "facts recalled a parameter, MLP alone": facts_a_parameter(results, "mlp"),
        "facts recalled a parameter, attention alone": facts_a_parameter(results, "attention"),
    }
    return beside(PUBLISHED, ours)


def facts_a_parameter(results: Results, part: str) -> pd.Series:
    """Facts that the largest of one part alone recalls behind frozen embeddings, by its parameters, by seed."""
    rows = results.rows(PLACES, part=part, embeddings="frozen")
    size = rows["n_parameters"].max()
    largest = rows[rows["n_parameters"] == size].set_index("init_seed")
    return largest["accuracy"] * Layer.n_subjects * Layer.n_relations / size


APPENDIX_VIEWS = {view.__name__: view for view in (numbers,)}
