"""Figures of networks that share data sets: means and intervals are those of claims, which count the data sets."""

import pytest
from published_stage import evidence

from livingpaper.figures.caption import facts
from livingpaper.figures.rows import over_seeds, rows_of, share_over_seeds
from retrieval_circuits.permutation_recall.figures.factorial import MORE_HEADS, WIDER
from retrieval_circuits.story_control.design import PLANTED, STORY

ONE_TEXT = {"accuracy", "variables", "operators"}
"""Figures of networks on the story alone, which has no other draw."""
SHARED = "over data sets (over seeds that all share one)"


def drawn(study):
    of, found = evidence(study)
    return of, found, {name: of.view(name, found) for name in of.study.VIEWS}


@pytest.fixture(scope="module")
def permutations():
    return drawn("permutation_recall")


@pytest.fixture(scope="module")
def stories():
    return drawn("story_control")


@pytest.mark.parametrize("study", ["permutations", "stories"])
def test_every_interval_is_over_data_sets_where_networks_share_them(study, request):
    _, _, views = request.getfixturevalue(study)
    banded = {name for name, view in views.items() if view.band and view.seeds}
    assert len(banded) > 5
    counted = {name for name in banded if any(SHARED in said for said in facts(views[name]))}
    assert banded - counted == (ONE_TEXT if study == "stories" else set())


def test_effects_of_size_have_the_interval_of_their_claim(permutations):
    """PR6 asks for the difference of two of the figure's rows, which its caption says, too."""
    of, _, views = permutations
    claimed = of.recorded["PR6"].estimate
    rows = rows_of(views["effects"], ["group", "init_seed", "value"], ["data_set"])
    by_seed = rows.set_index(["data_set", "init_seed", "group"])["value"].unstack("group")
    less = (by_seed[WIDER] - by_seed[MORE_HEADS]).rename("value").reset_index().assign(group="less", origin="paper")
    found = over_seeds(less, ["group"], intervals=True).iloc[0]
    wanted = [claimed.low, claimed.effect, claimed.high]
    assert [found[end] for end in ("low", "mean", "high")] == pytest.approx(wanted, 1e-3)
    assert f"{wanted[1]:.2f} [{wanted[0]:.2f}, {wanted[2]:.2f}]" in views["effects"].note


def test_the_story_counts_networks_and_planted_repeats_count_rows(stories):
    _, _, views = stories
    table = views["highest"].table
    assert table.loc[table["arm"] == STORY, "data_set"].isna().all()
    planted = table[table["arm"] == PLANTED]
    assert planted["data_set"].nunique() == 13 and planted["init_seed"].nunique() == 37


def test_rates_of_planted_repeats_are_those_of_their_claim(stories):
    of, _, views = stories
    claimed = of.recorded["SC4"].estimate
    table = views["rates"].table
    whole = table[(table["arm"] == PLANTED) & (table["series"] == "our definitions")]
    found = {panel: share_over_seeds(part)[0] for panel, part in whole.groupby("panel")}
    assert (claimed.low, claimed.effect, claimed.high) in [
        pytest.approx((one.low, one.mean, one.high)) for one in found.values()
    ]
