"""The table of the appendix on memories that holds our numbers against the sources', on numbers made up."""

import pandas as pd
import pytest

from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.figures.tables import comparison
from retrieval_circuits.associative_memory import design
from retrieval_circuits.associative_memory.figures import appendix
from retrieval_circuits.associative_memory.measures import WHOLE
from retrieval_circuits.associative_memory.published import PUBLISHED

VIEWS = studies.load("associative_memory").VIEWS


def test_numbers_stand_beside_all_that_the_sources_have():
    recall = pd.DataFrame({"step": [0, 32, 64, 96], "from_guess": [1.4, 0.05, 0.02, 0.5], "loss": [3.4, 2.1, 2.0, 0.3]})
    recall = recall.assign(way=design.SOURCE_WAY, init_seed=1)
    places = pd.DataFrame({"n_parameters": [64, 512], "accuracy": [0.5, 0.75], "init_seed": 1, "embeddings": "frozen"})
    places = pd.concat([places.assign(part=part) for part in ("mlp", "attention")], ignore_index=True)
    d, hidden = appendix.MOST_UNITS
    loads = pd.DataFrame({"load": [0.5, 1.0], "accuracy": [1.0, 0.98], "init_seed": 1, "steps": 4})
    optimizer, rate = design.SOURCES
    trained = loads.assign(optimizer=optimizer, rate=rate, d=8)
    hidden = loads.assign(d=d, hidden=hidden, classes=0, rate=design.HIDDEN_RATES[0], trained=WHOLE)
    tables = {"recall": recall, "places": places, "trained": trained, "hidden_layer": hidden}
    tables = {name: table.assign(arm=name) for name, table in tables.items()}
    empty = pd.DataFrame(columns=["arm", "init_seed", "run_id", "step", "metric", "value"])
    view = VIEWS["numbers"](Results(empty, pd.DataFrame(), "paper", tables, tuple(tables)))
    table = comparison(view).set_index("quantity")
    ours = table.iloc[:, -1]
    assert list(table.index) == list(PUBLISHED)
    assert ours["step at which guessing begins"] == 32 and ours["step at which guessing ends"] == 64
    assert (ours["loss at the start, nats"], ours["loss where guessing is purest, nats"]) == (3.4, 2.0)
    for part in ("MLP", "attention"):
        assert ours[f"facts recalled a parameter, {part} alone"] == pytest.approx(0.75 * 256 / 512)
    load = 0.5 * 2**0.5  # between two loads by their logarithm: 99 % lies half-way from 100 to 98
    assert ours["N ln N / d² up to which a trained matrix recalls"] == pytest.approx(load, abs=1e-4)
    assert ours["N ln N / md up to which an MLP recalls"] == pytest.approx(load, abs=1e-4)
