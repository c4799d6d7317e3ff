"""Births on the stages of the published networks are those of the chapters' readings, and what a stage opens on."""

import math

import pandas as pd
import pytest
from published_stage import evidence, exhibit

from retrieval_circuits.composition.design import FORWARD, FOUR, WORDS
from retrieval_circuits.permutation_recall.readings.models import ONE, TWO
from retrieval_circuits.sgd_formation.design import FRESH
from retrieval_circuits.sgd_formation.readings.networks import joining_time
from retrieval_circuits.sgd_selection.design import DRAWN_FORK, NETWORKS
from retrieval_circuits.sgd_selection.readings import half_right, joined
from retrieval_circuits.story_control.design import PLANTED, STORY
from retrieval_circuits.story_control.readings import MOTIFS, OURS, PUBLISHED, arm_births, reported

NINE_OF_TEN, HALF = 0.9, 0.5
EVENTS = {
    "values look at keys": "",
    "reads look at values": "reads look at the value asked for",
    "reads are right": "all reads are right",
}
"""Birth on the stage of SGD formation -> its row in the figure of times, which counts them from the first on."""
PARTS = ("copies what it looks at", "looks at the value", "looks one word back")


def shown_of(study, name, n_runs):
    """The shown networks, with the arm and the rows of measurements of each."""
    table = evidence(study)[1][0].measurements
    found = []
    for one in exhibit(study, name).shown:
        rows = table[table["run_id"] == one.run.run_id]
        found.append((one, str(rows["arm"].iloc[0]), rows))
    assert len(found) == n_runs
    return found


def first(rows, reached):
    """(after, by) of the first measured step at which ``reached`` holds; by None: at none."""
    steps = rows["step"].tolist()
    assert steps == sorted(set(steps))
    there = [step for step, holds in zip(steps, reached, strict=True) if holds]
    if not there:
        return steps[-1], None
    return max((step for step in steps if step < there[0]), default=None), there[0]


def births(one, rule=""):
    return {birth.label: (birth.after, birth.by) for birth in one.births if birth.rule == rule}


def brackets(birth, time, last):
    """Whether a birth is the measured interval around a time; at the last step a time may stand for never."""
    after, by = birth
    return (by is None and time in (last, math.inf)) or (
        by is not None and (after is None or after < time) and by >= time
    )


@pytest.mark.slow
def test_hops_are_born_when_nine_of_ten_queries_are_first_answered():
    arms = []
    for one, arm, rows in shown_of("composition", "explorer", 11):
        arms.append(arm)
        for hops, words in enumerate(("one hop", "two hops", "three hops", "four hops"), 1):
            of_hops = rows[(rows["metric"] == "accuracy") & (rows["variable"].astype(str) == f"hops_{hops}")]
            assert births(one)[words] == first(of_hops, of_hops["value"] >= NINE_OF_TEN), (one.run, words)
    assert arms == [str(FOUR)] * 10 + [str(FORWARD)]


@pytest.mark.slow
def test_births_in_streams_are_the_times_that_the_figure_holds_against_each_other():
    of, (results,) = evidence("sgd_formation")
    first, figure = joining_time(FRESH)(results), of.study.VIEWS["times"](results).table
    after = figure.set_index(["group", "init_seed"])["value"]
    for one, _, rows in shown_of("sgd_formation", "explorer", 10):
        for label, group in EVENTS.items():
            seed = one.run.recipe.init_seed
            time = first[seed] + (after[group, seed] if group else 0)
            assert brackets(births(one)[label], time, rows["step"].max())


@pytest.mark.slow
def test_births_of_rivals_are_the_times_that_claims_read():
    _, (results,) = evidence("sgd_selection")
    arms = []
    for one, _, rows in shown_of("sgd_selection", "explorer", 11):
        arm, seed = DRAWN_FORK if one.run.recipe.parent else NETWORKS, one.run.recipe.init_seed
        arms.append(arm)
        for label, reading in {"half of values joined": joined, "half of reads right": half_right}.items():
            assert brackets(births(one)[label], reading(results, arm)[seed], rows["step"].max()), (one.run, label)
    assert arms.count(DRAWN_FORK) == 1


@pytest.mark.slow
def test_parts_of_a_look_up_are_born_half_the_way_of_the_figures_curves_and_the_answer_with_half_of_the_loss():
    of, (results,) = evidence("emergence_laws")
    curves = of.study.VIEWS["order"](results).table
    chance = {part: looks_chance(results, part) for part in PARTS}
    for one, _, rows in shown_of("emergence_laws", "explorer", 10):
        found = births(one)
        for part in PARTS:
            own = curves[(curves["arm"] == "pairs") & (curves["series"] == part)]
            own = own[own["init_seed"] == one.run.recipe.init_seed].sort_values("step")
            level = (own["value"].iloc[-1] + chance[part]) / 2
            assert found[part] == first(own, own["value"] >= level), (one.run, part)
        loss = rows[rows["metric"] == "loss"]
        assert found["answers"] == first(loss, loss["value"] <= one.run.recipe.make_task().guess_loss / 2)


def looks_chance(results, part):
    metric, look = ("copying", "read_out>values") if part == PARTS[0] else ("mass", "read_out>values")
    look = "values>keys" if part == PARTS[2] else look
    return results.rows("looks", arm="pairs", metric=f"{metric}_chance", variable=look)["value"].iloc[0]


@pytest.mark.slow
def test_recall_is_born_when_more_than_half_of_the_probes_are_answered_and_never_without_repeats():
    arms = []
    for one, arm, rows in shown_of("permutation_recall", "explorer", 20):
        arms.append(arm)
        recall = rows[(rows["metric"] == "recall") & (rows["variable"].astype(str).isin(["", "nan"]))]
        assert births(one) == {"recalls": first(recall, recall["value"] > HALF)}, one.run
        assert (births(one)["recalls"][1] is None) == (arm == ONE)
    assert set(arms) == {ONE, TWO}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arm"), [("story", STORY), ("planted", PLANTED)])
def test_births_of_the_battery_are_those_that_it_reports(name, arm):
    _, (results,) = evidence("story_control")
    rules = {"our definitions": OURS, "the source's definitions": PUBLISHED}
    never = 0
    for one, _, _ in shown_of("story_control", name, 10):
        assert [birth.rule for birth in one.births] == [rule for rule in rules for _ in MOTIFS]
        for rule, definitions in rules.items():
            table, runs = arm_births(results, arm, definitions), reported(results, definitions)
            table = table[table["init_seed"] == one.run.recipe.init_seed]
            said = runs[(runs["arm"] == arm) & (runs["init_seed"] == one.run.recipe.init_seed)]
            for motif, (_, by) in births(one, rule).items():
                first_by = table[table["motif"].str.partition(":")[0] == motif]["by"].min()
                assert by == (None if pd.isna(first_by) else first_by), (one.run, motif)
                assert (by is not None) == bool(said[said["motif"] == motif]["born"].iloc[0])
                never += by is None
    assert never == 80 if arm == STORY else 0 < never < 80


# ---- what a stage opens on ----


@pytest.mark.slow
def test_the_stage_of_hops_opens_on_their_order_and_says_what_streams_hold():
    shown = exhibit("composition", "explorer")
    assert shown.path[0].claims == ("KF8", "KF9")
    of = evidence("composition")[0]
    assert all(of.recorded[claim].status == "Supported" for claim in shown.path[0].claims)
    assert [birth.label for birth in shown.find(shown.start["run"]).births] == list(WORDS.values())
    notes = {one.run.recipe.init_seed: one.note for one in shown.shown if "mixed" in one.condition}
    held = (
        "holds its start after the first layer, two hops after the second layer, three hops after the third and fourth"
    )
    assert held in notes[2] and "after one layer in half or more" in notes[2]
    assert "the query mostly holds one hop after the first" in notes[7]
    assert "after one layer in fewer than half" in notes[7]
    assert "the query mostly holds nothing that was predicted after " in notes[3]


@pytest.mark.slow
def test_the_path_of_hops_goes_to_the_first_checkpoint_at_which_each_is_answered():
    shown = exhibit("composition", "explorer")
    one = shown.find(shown.start["run"])
    by = {birth.label: birth.by for birth in one.births}
    for title, words in (("One hop.", "one hop"), ("Two hops.", "two hops")):
        (stop,) = (stop for stop in shown.path if stop.title == title)
        assert stop.state["step"] == min(step for step in one.steps if step >= by[words])
        assert stop.state["prompt"] == next(example.prompt for example in shown.examples if example.label == words)


@pytest.mark.slow
def test_the_story_opens_on_the_first_held_out_row_that_wants_a_word_and_is_missed():
    shown = exhibit("story_control", "story")
    opened, reading = shown.start["prompt"], shown.reading(shown.start)
    wanted = [one for one in shown.examples if one.label.startswith("val") and one.answer.isalpha()]
    read = [shown.reading({**shown.start, "prompt": one.prompt}).likeliest == one.answer for one in wanted]
    assert opened == wanted[read.index(False)].prompt and reading.target.isalpha()
    assert shown.path[0].claims == ("SC2",) and not shown.path[0].state


@pytest.mark.slow
def test_every_network_on_pairs_is_tested_at_every_shown_step_and_no_move_is_there_before_the_looks():
    for one in exhibit("emergence_laws", "explorer").shown:
        assert set(one.tests) == set(one.steps)
        assert [move for move, test in one.tests[one.steps[-1]].items() if test.supported] == [
            "joins",
            "finds",
            "copies",
        ]
        looks = max(birth.by for birth in one.births if birth.label in PARTS[1:])
        early = [test for step, tests in one.tests.items() if step < looks - 300 for test in tests.values()]
        assert not any(test.supported for test in early)
