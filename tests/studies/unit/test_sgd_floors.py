"""SGD formation: the least loss on new rows, as a table, and that the claim on it can come out either way."""

import pandas as pd
import pytest

from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.stream_floor import foreseen_source
from circuitcore.tasks.stream_kv import StreamKV
from retrieval_circuits.sgd_formation.claims import CLAIMS
from retrieval_circuits.sgd_formation.measures import SIZES, Benchmark, our_floor, source_floor
from retrieval_circuits.sgd_formation.measures.floors import ALL

FEW = Benchmark(n_train=60, n_eval=200)


@pytest.mark.parametrize("function", [source_floor, our_floor])
def test_parts_add_up_to_the_floor(function):
    table = pd.DataFrame(function(FEW, 3))
    for _, rows in table.groupby("split"):
        parts = rows[rows["part"] != ALL]["value"].sum()
        assert parts == pytest.approx(rows[rows["part"] == ALL]["value"].item())


def test_the_table_of_the_source_is_that_of_its_stream():
    table = pd.DataFrame(source_floor(FEW, 3)).set_index(["split", "part"])["value"]
    found = foreseen_source(StreamKV(seed=3, n_train=60, n_eval=200), "test_iid")
    assert table["test_iid", ALL] == found.floor and table["test_iid", ALL] != table["train", ALL]


def test_guesses_of_ours_are_between_the_certain_tokens_and_all():
    """Certain are the answers, the first word of every write before the first read may come, and the end."""
    (share,) = pd.DataFrame(our_floor(FEW, 3)).query("split == 'test'")["guessed"].unique()
    law = BalancedStream(**SIZES).law
    assert (law.n_reads + law.n_lags + 1) / (3 * law.n_events + 1) < share < 1


def test_the_training_loss_that_was_published_is_the_bound():
    (claim,) = [claim for claim in CLAIMS if claim.id == "SF6"]
    assert claim.bound.reached(1.1661) and not claim.bound.reached(1.1659)
