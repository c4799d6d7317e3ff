"""Stacked heads: arms of chains of four differ in what is rewarded; what is claimed of them can come out either way."""

import dataclasses

import pandas as pd
import pytest

from circuitcore.models import init_weights
from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads import design
from retrieval_circuits.stacked_heads.claims.four import ON_FRESH, REWARDS
from retrieval_circuits.stacked_heads.design import EVERY_FOUR, FOUR, FRESH_FOUR, WITHOUT_FOURTH, WITHOUT_THIRD
from retrieval_circuits.stacked_heads.figures import four as figures

ARMS = design.recipes(studies.load_params("stacked_heads"))
REWARDED = {EVERY_FOUR: (1, 2, 3, 4), WITHOUT_THIRD: (1, 2, 4), WITHOUT_FOURTH: (1, 2, 3)}
NEVER = 10**9


def test_arms_differ_in_what_is_rewarded_and_in_length():
    """Chains of four, five layers: one that joins pairs and one a look-up."""
    for lesson, asked in REWARDED.items():
        recipe = ARMS[str(lesson)][0]
        task = recipe.make_task()
        assert (task.n_steps, task.asked, recipe.model.n_layers) == (4, asked, 5)
        assert recipe.n_steps == (16_000 if lesson == WITHOUT_THIRD else 8_000)
    every, third, fourth = (ARMS[str(lesson)][0] for lesson in FOUR)
    assert differences(every, fourth) == {"task_params", "model"}, "the read-out has a row less"
    assert differences(third, fourth) == {"task_params", "stages", "checkpoint_epochs"}


def differences(one, other):
    return {field.name for field in dataclasses.fields(one) if getattr(one, field.name) != getattr(other, field.name)}


def test_networks_with_three_symbols_rewarded_start_alike():
    one, other = (init_weights(ARMS[str(lesson)][0].model, 3) for lesson in (WITHOUT_THIRD, WITHOUT_FOURTH))
    assert all(bool((one[name] == other[name]).all()) for name in one)


def results(learnt):
    """Networks ``lesson -> (seed -> (place -> step at which it is learnt))``, measured every 500 steps to their end."""
    rows = [
        {"arm": str(lesson), "init_seed": seed, "run_id": f"{lesson} {seed}", "metric": "partial_loss", "split": "test",
         "variable": f"x_{place}", "step": step, "value": 0.75 if step < when else 0.25}
        for lesson, of_seeds in learnt.items()
        for seed, places in of_seeds.items()
        for place, when in places.items()
        for step in range(0, (16_001 if lesson == WITHOUT_THIRD else 8_001), 500)
    ]  # fmt: skip
    return Results(pd.DataFrame(rows), pd.DataFrame(), "paper")


def verdicts(second, fourth=NEVER, first=1_500, second_without_fourth=2_000):
    seeds = range(1, 7)
    found = results({
        EVERY_FOUR: {seed: {1: 1_500, 2: 1_500, 3: 2_000, 4: 2_000} for seed in seeds},
        WITHOUT_THIRD: {seed: {1: first + 500 * (seed % 2), 2: second + 500 * (seed % 2), 4: fourth} for seed in seeds},
        WITHOUT_FOURTH: {seed: {1: 1_500, 2: second_without_fourth, 3: 2_000} for seed in seeds},
    })  # fmt: skip
    return {claim.id: claim.verdict(found).status.value for claim in REWARDS}


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ({"second": 8_000}, {"SH55": "Supported", "SH56": "Supported"}),
        ({"second": 8_000, "fourth": 12_000}, {"SH55": "Refuted", "SH56": "Supported"}),
        ({"second": 2_000}, {"SH55": "Supported", "SH56": "Refuted"}),
        ({"second": 14_000}, {"SH55": "Control failed", "SH56": "Supported"}),  # too little is left for the fourth
        ({"second": 8_000, "first": 6_500}, {"SH55": "Supported", "SH56": "Control failed"}),  # late with the first
        ({"second": NEVER, "second_without_fourth": NEVER}, {"SH55": "Control failed", "SH56": "Control failed"}),
    ],
)
def test_claims_come_out_either_way(told, wanted):
    assert verdicts(**told) == wanted


def test_fresh_networks_are_trained_as_the_first_ones():
    first, fresh = ARMS[str(EVERY_FOUR)], ARMS[str(FRESH_FOUR)]
    assert not {one.init_seed for one in first} & {one.init_seed for one in fresh}
    assert differences(first[0], fresh[0]) == {"init_seed", "data_seed"}


AHEAD, HOP = "value_2>value_3", "queries>value_3"


def on_fresh(*networks):
    """Verdicts on eight of each of networks ``learnt, attention ahead, links left, links tried, cost of the rest``."""
    learnt, links, circuit = {}, [], []
    for seed, (knows, looks, left, tried, cost) in enumerate(8 * networks, 1):
        of = {"arm": str(FRESH_FOUR), "init_seed": seed}
        learnt[seed] = {4: 1_000 if knows else NEVER}
        links += [
            {**of, "layer": layer, "head": 0, "site": site, "value": value}
            for layer, site, value in ((3, AHEAD, looks), (4, AHEAD, 1.0), (4, HOP, 0.9))  # what the last layer looks
        ]  # at from an answer nothing reads
        circuit += [
            {**of, "layer": 3, "head": 0, "metric": metric, "site": site, "edit": None, "value": 0.9}
            for metric, sites in {"path": left, "candidate_path": tried}.items() for site in ("queries>queries", *sites)
        ]  # fmt: skip
        circuit += [
            {**of, "layer": None, "head": None, "metric": "circuit_loss", "site": None, "edit": edit, "value": value}
            for edit, value in (("none", 0.05), ("paths", 0.05 + cost))
        ]
    found = dataclasses.replace(
        results({FRESH_FOUR: learnt}), tables={"links": pd.DataFrame(links), "circuit": pd.DataFrame(circuit)}
    )
    return {claim.id: claim.verdict(found).status.value for claim in ON_FRESH}


LOST = (False, 0.1, (), (), 1.0)
LOOKS = (True, 0.9, (AHEAD,), (AHEAD,), 0.05)


@pytest.mark.parametrize(
    ("networks", "wanted"),
    [
        ((LOOKS, LOST), ("Supported", "Supported")),
        (((True, 0.1, (HOP,), (HOP,), 0.05), LOST), ("Refuted", "Refuted")),
        (((True, 0.9, (AHEAD, HOP), (AHEAD, HOP), 0.05), LOST), ("Supported", "Refuted")),
        (((True, 0.9, (AHEAD,), (AHEAD, HOP), 0.05), LOST), ("Supported", "Control failed")),  # it may have been chance
        ((LOOKS, (False, 0.9, (), (), 1.0)), ("Control failed", "Supported")),  # who has not learnt it looks as well
        (((True, 0.9, (AHEAD,), (AHEAD,), 0.2), LOST), ("Supported", "Not checked")),  # not how they answer
        ((LOOKS, (True, 0.9, (), (AHEAD,), 0.2), LOST), ("Supported", "Undecided")),  # half of them alone
    ],
)
def test_claims_on_fresh_networks_come_out_either_way(networks, wanted):
    assert on_fresh(*networks) == dict(zip(("SH57", "SH58"), wanted, strict=True))


def test_the_text_counts_who_learnt_what():
    found = results({
        EVERY_FOUR: {1: {1: 500, 2: 500, 3: 500, 4: 1_000}, 2: {1: 500, 2: 500, 3: 500, 4: NEVER}},
        WITHOUT_THIRD: {1: {1: 500, 2: 15_000, 4: NEVER}, 2: {1: 500, 2: NEVER, 4: NEVER}},
        WITHOUT_FOURTH: {1: {1: 500, 2: 500, 3: 500}},
        FRESH_FOUR: {11: {4: 500}, 12: {4: 500}, 13: {4: NEVER}},
    })  # fmt: skip
    times = figures.four_times(found)
    assert len(times.table) == 4 + 4 + 3 + 3 + 3
    links = [
        {"arm": str(arm), "init_seed": seed, "site": site, "layer": layer, "value": value}
        for arm, seed, ahead, last in (
            (EVERY_FOUR, 1, 0.9, 0.9), (EVERY_FOUR, 2, 0.4, 0.9), (WITHOUT_THIRD, 1, 0.6, 0.1),
            (WITHOUT_THIRD, 2, 0, 0), (FRESH_FOUR, 11, 0.9, 0.1), (FRESH_FOUR, 12, 0.1, 0.1),
            (FRESH_FOUR, 13, 0.9, 0.9)
        )
        for site, layer, value in (
            ("value_2>value_3", 3, ahead), ("value_0>value_3", 4, last), ("value_0>value_2", 1, 1.0),
            ("queries>value_3", 4, 0.6 if seed == 12 else 0.2)
        )
    ]  # fmt: skip
    ends = figures.four_ends(dataclasses.replace(found, tables={"links": pd.DataFrame(links)}))
    assert figures.four_numbers(times, ends) == {
        "n_fourth_every": "1 of 2",
        "n_fourth_without_third": "0 of 2",
        "n_fourth_fresh": "2 of 3",
        "n_ahead_fresh": "1 of 2",
        "n_hop_fresh": "1 of 2",
        "n_ahead_learnt": "1 of 1",
        "n_ahead_not": "1 of 3",
        "query_at_fourth": "0.20",
    }


def test_the_figure_has_a_panel_for_each_choice_of_rewards():
    found = results({lesson: {1: dict.fromkeys(asked, 500)} for lesson, asked in REWARDED.items()})
    table = figures.four_training(found).table
    panels = table.groupby("panel", sort=False)["series"].agg(lambda names: len(set(names))).to_dict()
    assert panels == {"all four rewarded": 4, "the third not rewarded": 3, "the fourth not rewarded": 3}
    assert table["series"].drop_duplicates().tolist() == [
        f"{name} symbol" for name in ("first", "second", "third", "fourth")
    ]
