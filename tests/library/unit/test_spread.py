"""How far the births of one run lie apart, by hand."""

import pandas as pd
import pytest

from circuitcore.emergence.spread import spread_per_seed, spreads


def born(*rows):
    """Births as ``emergence.births`` gives them: (arm, seed, motif, epoch or None)."""
    return pd.DataFrame(rows, columns=["arm", "init_seed", "motif", "by"]).astype({"by": "Int64"})


def test_from_the_first_to_the_last_of_the_motifs_asked_for():
    table = born(("on", 0, "a", 3), ("on", 0, "b", 10), ("on", 0, "probe", 0), ("on", 0, "c", None))
    found = spreads(table, ["a", "b", "c"])
    assert found.loc[("on", 0)].to_dict() == {"spread": 7, "born": 2}
    assert spreads(table, ["a", "b", "probe"]).loc[("on", 0), "spread"] == 10


def test_one_birth_has_no_distance_and_none_no_spread():
    table = born(("on", 0, "a", 3), ("on", 0, "b", None), ("on", 1, "a", None), ("on", 1, "b", None))
    found = spreads(table, ["a", "b"])
    assert found["spread"].fillna(-1).tolist() == [0, -1] and found["born"].tolist() == [1, 0]
    assert spread_per_seed(table, ["a", "b"]).to_dict() == {0: 0}


def test_a_motif_that_is_misspelt_is_not_one_that_was_never_born():
    table = born(("on", 0, "accuracy", 3))
    with pytest.raises(ValueError, match="unknown motif 'acuracy'; did you mean 'accuracy'"):
        spreads(table, ["acuracy"])


def test_a_seed_counts_once_however_many_runs_it_has():
    table = born(
        *(("off", 0, motif, epoch) for motif, epoch in (("a", 0), ("b", 10))),
        *(("on", 0, motif, epoch) for motif, epoch in (("a", 0), ("b", 30))),
        *(("on", 1, motif, epoch) for motif, epoch in (("a", 4), ("b", 5))),
    )
    assert spread_per_seed(table, ["a", "b"]).to_dict() == {0: 20, 1: 1}
    assert spread_per_seed(table, ["a", "b"]).mean() == pytest.approx(10.5)  # of the three runs it would be 13.7
