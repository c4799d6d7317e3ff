"""The study of the negative control: which births are reported, what a task allows, and the claims."""

import itertools

import numpy as np
import pandas as pd
import pytest
from measured import battery_of

from circuitcore.emergence.seeds import share_interval
from circuitcore.tasks import make_task
from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.claims.verdict import Status
from livingpaper.claims.view import View
from retrieval_circuits import motif_measures
from retrieval_circuits.story_control import figures, readings
from retrieval_circuits.story_control.design import (
    ARMS,
    CANNOT,
    COULD_FAIL,
    FRESH,
    N_ON_FIRST,
    NEXT_WORD,
    ONE_LAYER,
    PHRASES,
    PLANTED,
    SHUFFLED,
    STORY,
    UNTRAINED,
    data_set_of,
    eighths,
    story_epochs,
)
from retrieval_circuits.story_control.published import PUBLISHED_TEXT
from retrieval_circuits.story_control.readings import ANY, MOTIFS, OURS, PUBLISHED, WHOLE

STUDY = studies.load("story_control")
CLAIMS = {claim.id: claim for claim in STUDY.CLAIMS}
BOTH = (PUBLISHED, OURS)
SEEDS = (0, 1, 2)
FAMILIES = ("a", "b")


def rows_of(arm, seed, step, level):
    """What the battery measures of a network with two layers of one head, all of it at ``level[metric]``."""
    made = [{"metric": "accuracy", "split": "val", "value": level["accuracy"]}]
    made += [{"metric": "accuracy", "split": split, "value": level["accuracy"]} for split in ("train", "test", "ood")]
    for metric, layer in itertools.product(("routing", "copying"), (0, 1)):
        head = {"layer": layer, "head": 0, "site": f"L{layer}H0"}
        value = level[metric] if layer == level.get("layer", 1) else 0.1
        made += [{"metric": metric, "family": family, "value": value, **head} for family in (*FAMILIES, "all")]
        worst = level.get("worst", value)
        made.append({"metric": f"{metric}_worst_base", "family": "all", "value": min(value, worst), **head})
        if layer == level.get("layer", 1) and "family" in level:
            made[-2 - len(FAMILIES)]["value"] = level["family"]
    names = ["target_token", "previous_token"] if arm in NEXT_WORD else ["query_key", "matching_slot", "selected_value"]
    for name in names:
        patch = level["patch"] if name in level.get("patched", names) else 0.0
        for ending in ("", "_worst_base"):
            made.append(
                {"metric": f"faithfulness_published{ending}", "family": "all", "variable": name, "value": patch}
            )
        for site in ("q", "z"):
            made.append(
                {
                    "metric": "interchange_chosen",
                    "family": "x",
                    "variable": name,
                    "site": f"L1H*.{site}",
                    "edit": "",
                    "value": patch,
                }
            )
    return [{"arm": arm, "init_seed": seed, "run_id": f"{arm}{seed}", "step": step, "n": 9, **row} for row in made]


HIGH = {"accuracy": 0.95, "routing": 0.9, "copying": 0.9, "patch": 0.9}
LOW = dict.fromkeys(HIGH, 0.2)


def results(levels):
    """Made-up results: (arm, seed) -> its levels at steps 0, 10, 20, ..."""
    found = [
        row
        for (arm, seed), at in levels.items()
        for number, level in enumerate(at)
        for row in rows_of(arm, seed, 10 * number, level)
    ]
    text = ("metric", "split", "family", "site", "variable", "edit", "arm")
    table = pd.DataFrame(found).reindex(columns=[*text, "init_seed", "run_id", "step", "layer", "head", "value", "n"])
    for name in text:
        table[name] = table[name].fillna("").astype("category" if name != "arm" else "str")
    return Results(table, pd.DataFrame(), "rerun")


def born(found, arm, definitions):
    runs = readings.reported(found, definitions)
    return runs[runs["arm"] == arm].groupby("motif", sort=False)["born"].sum().to_dict()


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("definitions", [PUBLISHED, OURS])
def test_all_or_nothing(arm, definitions):
    every = {(arm, seed): [HIGH, HIGH] for seed in SEEDS}
    assert born(results(every), arm, definitions) == dict.fromkeys((*MOTIFS, ANY, WHOLE), 3)
    none = {(arm, seed): [LOW, LOW] for seed in SEEDS}
    assert born(results(none), arm, definitions) == dict.fromkeys((*MOTIFS, ANY, WHOLE), 0)


def test_one_motif_is_any_and_not_the_whole():
    found = results({(SHUFFLED, 0): [LOW, {**LOW, "copying": 0.86}, {**LOW, "copying": 0.86}]})
    for definitions in (PUBLISHED, OURS):
        counts = born(found, SHUFFLED, definitions)
        assert counts == {**dict.fromkeys((*MOTIFS, WHOLE), 0), "copying": 1, ANY: 1}


def test_a_birth_of_ours_must_be_held_and_one_of_the_source_need_not():
    found = results({(SHUFFLED, 0): [LOW, HIGH, LOW]})
    assert born(found, SHUFFLED, PUBLISHED)[WHOLE] == 1 and born(found, SHUFFLED, OURS)[ANY] == 0


def test_the_worst_base_gates_the_source_and_the_worst_family_ours():
    base = results({(SHUFFLED, 0): [{**HIGH, "worst": 0.5}] * 2})
    assert born(base, SHUFFLED, PUBLISHED)["routing"] == 0 and born(base, SHUFFLED, OURS)["routing"] == 1
    family = results({(SHUFFLED, 0): [{**HIGH, "family": 0.5}] * 2})
    assert born(family, SHUFFLED, PUBLISHED)["routing"] == 1 and born(family, SHUFFLED, OURS)["routing"] == 0


def test_operators_of_an_earlier_layer_count_for_the_source_alone():
    found = results({(SHUFFLED, 0): [{**HIGH, "layer": 0}] * 2})
    assert born(found, SHUFFLED, PUBLISHED)["copying"] == 1 and born(found, SHUFFLED, OURS)["copying"] == 0


def test_any_variable_is_enough_for_faithfulness():
    found = results({(SHUFFLED, 0): [{**LOW, "patch": 0.9, "patched": ["selected_value"]}] * 2})
    assert born(found, SHUFFLED, PUBLISHED)["faithfulness"] == 1
    slot = results({(SHUFFLED, 0): [{**LOW, "patch": 0.9, "patched": ["matching_slot"]}] * 2})
    assert born(slot, SHUFFLED, PUBLISHED)["faithfulness"] == 1
    assert born(slot, SHUFFLED, OURS)["faithfulness"] == 0  # ours patches queries for the key, writes for the value


def test_untrained_networks_are_looked_at_before_their_first_step():
    found = results({(UNTRAINED, 0): [LOW, HIGH], (UNTRAINED, 1): [HIGH, LOW]})
    assert born(found, UNTRAINED, OURS) == born(found, UNTRAINED, PUBLISHED) == dict.fromkeys((*MOTIFS, ANY, WHOLE), 1)


def test_rates_by_control_and_pooled():
    levels = {(arm, seed): [HIGH if arm == PLANTED else LOW] * 2 for arm in ARMS for seed in SEEDS}
    levels[SHUFFLED, 1] = [HIGH, HIGH]
    table = readings.false_positives(results(levels)).set_index(["arm", "definitions", "motif"])
    wanted = {STORY: (0, 3), SHUFFLED: (1, 3), PLANTED: (3, 3), "could fail": (1, 9), "cannot have it": (1, 12)}
    for (arm, (k, n)), definitions in itertools.product(wanted.items(), (PUBLISHED, OURS)):
        row, interval = table.loc[arm, definitions, WHOLE], share_interval(k, n)
        assert (row["k"], row["n"]) == (k, n)
        assert [row["rate"], row["low"], row["high"]] == pytest.approx([k / n, interval.low, interval.high])
    assert len(COULD_FAIL) == 3 and len(CANNOT) == 4


ENOUGH = 17
"""Fewest seeds that show a share of 0.8 without an exception."""


def made_up(changed, arms=ARMS, n_seeds=ENOUGH):
    """Results in which only planted repeats are learnt and found; ``changed``: (arm, seed) -> other levels."""
    seeds = {arm: range(FRESH, FRESH + n_seeds) if arm == UNTRAINED else range(n_seeds) for arm in arms}
    levels = {(arm, seed): [HIGH if arm == PLANTED else LOW] * 2 for arm in arms for seed in seeds[arm]}
    return results({**levels, **changed})


def each_seed(arm, level):
    return {(arm, seed): [level] * 2 for seed in range(ENOUGH)}


def judged(found, *names):
    return {name: CLAIMS[name].verdict(found).status for name in names or CLAIMS}


def test_births_are_counted_by_seed():
    half = {**LOW, "copying": 0.9, "routing": 0.9}
    found = made_up({(STORY, 1): [half] * 2, (PLANTED, 2): [{**HIGH, "accuracy": 0.5}] * 2}, n_seeds=3)
    for definitions in BOTH:
        assert readings.births_in(found, STORY, definitions).to_dict() == {0: 0, 1: 2, 2: 0}
        assert readings.births_in(found, PLANTED, definitions).to_dict() == {0: 4, 1: 4, 2: 3}
        assert readings.births_where_learnt(found, definitions).to_dict() == {0: 4, 1: 4}


def test_the_three_networks_of_a_seed_make_one_draw():
    one = {**LOW, "copying": 0.9}
    found = made_up(
        {(ONE_LAYER, 1): [one] * 2, (UNTRAINED, FRESH + 1): [one] * 2, (SHUFFLED, 2): [HIGH] * 2}, n_seeds=3
    )
    for definitions in BOTH:
        assert readings.share_reported(found, definitions, ANY).to_dict() == pytest.approx({0: 0, 1: 2 / 3, 2: 1 / 3})
        assert readings.share_reported(found, definitions, WHOLE).to_dict() == pytest.approx({0: 0, 1: 0, 2: 1 / 3})


def test_births_in_controls_are_told_by_kind():
    one = {**LOW, "copying": 0.9}
    found = made_up({(ONE_LAYER, 1): [one] * 2, (ONE_LAYER, 2): [one] * 2, (SHUFFLED, 2): [one] * 2}, n_seeds=3)
    numbers = figures.alarm_numbers(figures.rates(found), figures.motifs(found))
    assert (numbers["any_in_one_layer"], numbers["any_elsewhere"]) == ("2 of 3", "1 of 6")
    assert numbers["copying_by_ours"] == numbers["copying_by_the_source"] == "2 of 3"


def test_controls_are_drawn_each_for_itself_and_not_together():
    drawn = figures.rates(made_up({}, n_seeds=3)).table
    assert drawn.groupby(["panel", "series", "init_seed", "arm"]).size().max() == 1


def test_what_is_learnt_by_heart_is_told_by_number_of_pairs():
    seeds = [{"group": "three", "init_seed": 0, "value": 0.08}, {"group": "three", "init_seed": 1, "value": 0.12}]
    view = View(
        pd.DataFrame([*seeds, {"group": "two", "init_seed": 0, "value": 0.06}]), "accuracy", "train", chance=1 / 16
    )
    told = {"by_heart_three": "10 %", "by_heart_low": "8 %", "by_heart_high": "12 %", "by_heart_two": "6 %"}
    assert figures.by_heart_numbers(view) == {**told, "by_chance": "6 %"}


def test_a_control_on_planted_repeats_counts_the_rows_that_it_was_drawn_by_and_the_story_is_one_text():
    seeds = (0, 1, N_ON_FIRST)
    assert len({data_set_of(seed) for seed in seeds}) == 2
    found = results({(arm, seed): [HIGH if arm == PLANTED else LOW] * 2 for arm in ARMS for seed in seeds})
    for name in ("SC1", "SC1.published"):
        finding = CLAIMS[name].finding(found)
        assert (finding.held.estimate.n_sets, finding.guards[0].held.estimate.n_sets) == (1, 2)


@pytest.mark.slow
def test_claims_on_networks_as_they_should_be():
    found = made_up(each_seed(PHRASES, HIGH))
    assert judged(found) == {
        "SC1.published": Status.VOID, "SC1": Status.SUPPORTED, "SC2": Status.REFUTED, "SC3": Status.REFUTED,
        "SC4.published": Status.SUPPORTED, "SC4": Status.SUPPORTED, "SC5.published": Status.VOID, "SC5": Status.VOID,
        "SC6.published": Status.UNDECIDED, "SC6": Status.UNDECIDED,  # so few draws cannot show one in twenty
        "SC7.published": Status.SUPPORTED, "SC7": Status.SUPPORTED,
    }  # fmt: skip
    assert {CLAIMS[name].verdict(found).estimate.n for name in ("SC1", "SC5", "SC6")} == {ENOUGH}


@pytest.mark.slow
def test_silence_says_nothing_where_the_battery_never_speaks_and_a_false_alarm_does():
    blind = each_seed(PLANTED, {**LOW, "accuracy": 0.95})
    found = made_up(blind, (STORY, PLANTED))
    assert judged(found, "SC1", "SC4") == {"SC1": Status.CONTROL_FAILED, "SC4": Status.REFUTED}
    copies = {**LOW, "copying": 0.9}
    found = made_up({**blind, **each_seed(ONE_LAYER, copies), (STORY, 3): [copies] * 2})
    names = ("SC1", "SC6", "SC6.published")
    assert judged(found, *names) == dict.fromkeys(names, Status.REFUTED)


def test_where_nothing_was_learnt_nothing_can_be_reported():
    found = made_up(each_seed(PLANTED, LOW), (STORY, PLANTED))
    assert judged(found, "SC1", "SC4") == {"SC1": Status.NOT_CHECKED, "SC4": Status.CONTROL_FAILED}


def test_one_network_that_did_not_learn_takes_the_answer_away():
    missed = each_seed(PHRASES, {**HIGH, "routing": 0.2})
    assert judged(made_up(missed, (PHRASES,)), "SC7") == {"SC7": Status.REFUTED}
    one = {**missed, (PHRASES, 7): [LOW] * 2}
    assert judged(made_up(one, (PHRASES,)), "SC7") == {"SC7": Status.CONTROL_FAILED}


@pytest.mark.slow
def test_no_network_that_could_fail_can_have_the_whole_circuit():
    """The reason why SC5 is void, from the rows: nobody can guess nine answers in ten."""
    recipes = STUDY.recipes(studies.load_params("story_control"))
    for arm in COULD_FAIL:
        recipe = recipes[arm][0]
        val = make_task(recipe.task, recipe.task_params).split("val")
        _, counts = val.answers.unique(return_counts=True)
        guess = [float(counts.max()) / len(val.answers)]  # the same answer always
        inside = val.tokens.gather(1, val.roles["slot_value"])
        guess += (inside == val.answers[:, None]).double().mean(0).tolist()  # the value of one slot always
        assert max(guess) < readings.THRESHOLDS["behaviour"] / 2, (arm, guess)


@pytest.mark.parametrize("name", ["story", "planted_repeats"])
def test_ceilings_by_brute_force(name):
    """What a network that knows every word it may know could reach, word by word."""
    task = make_task(name, {} if name == "story" else {"n_train": 50, "n_val": 20, "n_test": 60, "n_ood": 20})
    n_bases, n_probe = 8, 24
    table = readings.ceilings(task, n_bases, n_probe).set_index(["motif", "part"])
    train = task.split("train")
    learnt = {*train.tokens.flatten().tolist(), *train.answers.tolist()}
    val = task.split("val")
    hits = [
        wanted in learnt or wanted in row for row, wanted in zip(val.tokens.tolist(), val.answers.tolist(), strict=True)
    ]
    assert table.loc[("behaviour", ""), "score"] == pytest.approx(np.mean(hits))
    copies = {base: False for base in range(n_bases)}
    for batch in task.families(n_bases).values():
        for row, wanted, base in zip(batch.tokens.tolist(), batch.answers.tolist(), batch.base.tolist(), strict=True):
            copies[base] |= wanted in row
    assert table.loc[("routing", ""), "gate"] == table.loc[("copying", ""), "gate"] == min(copies.values())
    for pairs in task.interchanges(n_bases):
        by_base = {}
        for base, source, wanted, number in zip(
            pairs.base.tokens.tolist(), pairs.source.tokens.tolist(), pairs.expected["source_answer"].tolist(),
            pairs.base.base.tolist(), strict=True,
        ):  # fmt: skip
            by_base.setdefault(number, []).append(wanted in {*learnt, *base, *source})
        row = table.loc[("faithfulness", pairs.name)]
        assert row["score"] == pytest.approx(np.mean([hit for hits in by_base.values() for hit in hits]))
        assert row["gate"] == pytest.approx(min(np.mean(hits) for hits in by_base.values()))
    for variable in task.variables:
        classes = set(train.variables[variable][:n_probe].tolist())
        by_base = {}
        for batch in task.families(n_bases).values():
            for label, base in zip(batch.variables[variable].tolist(), batch.base.tolist(), strict=True):
                by_base.setdefault(base, []).append(label in classes)
        assert table.loc[("probe", variable), "gate"] == pytest.approx(min(np.mean(hits) for hits in by_base.values()))


def test_nothing_can_be_born_on_the_story_and_everything_on_planted_repeats():
    assert readings.possible_births(readings.ceilings(make_task("story", {}), 32, 128)) == 0
    assert readings.possible_births(readings.ceilings(make_task("planted_repeats", {}), 32, 1024)) == 4
    verdict = CLAIMS["SC2"].verdict(results({(STORY, 0): [LOW]}))
    assert (verdict.status, verdict.estimate.effect) == (Status.REFUTED, 0)
    assert verdict.finding.guards[0].held.estimate.effect == 4


def test_a_head_that_looks_anywhere_is_counted_by_hand():
    task = make_task("story", {})
    found = readings.operator_chances(task, 8)
    everywhere, copied = [], []
    for batch in task.families(8).values():
        for read_out, last_copy in zip(batch.roles["read_out"], batch.roles["last_copy"], strict=True):
            everywhere.append(1 / (int(read_out) + 1))
            copied += everywhere[-1:] if last_copy > 0 else []
    assert found["recency"] == pytest.approx(np.mean(everywhere)) and len(copied) < len(everywhere)
    assert found["routing"] == pytest.approx(np.mean(copied)) and found["copying"] == 1 / len(task.vocab)


def test_counts_of_the_text():
    facts = readings.text_facts(make_task("story", {}), 32, 128)
    assert (facts["tokens"], facts["types"]) == (1168, 545)
    assert set(facts) == set(PUBLISHED_TEXT)


def test_checkpoints_of_the_story_are_those_of_the_source():
    epochs = story_epochs(150)
    assert epochs[:21] == tuple(range(21)) and epochs[-1] == 150 and len(epochs) == 45
    assert story_epochs(4) == (0, 1, 2, 3, 4) and story_epochs(21)[-2:] == (20, 21)
    assert eighths(20) == (0, 2, 5, 8, 10, 12, 15, 18, 20) and eighths(2) == (0, 1, 2)


def test_recipes_differ_in_what_their_arms_say():
    params = studies.load_params("story_control")
    arms = STUDY.recipes(params)
    assert list(arms) == list(ARMS) and all(len(recipes) == len(params.seeds) >= 20 for recipes in arms.values())
    assert {recipe.model.n_layers for recipe in arms["one layer"]} == {1}
    assert arms[SHUFFLED][0].task_params["targets"] == "shuffled"
    trained = {recipe.init_seed for arm in ARMS if arm != UNTRAINED for recipe in arms[arm]}
    assert not trained & {recipe.init_seed for recipe in arms[UNTRAINED]}
    shipped = {arm: STUDY.published_epochs(params, arm, params.seeds[0]) for arm in ARMS}
    assert {arm for arm, epochs in shipped.items() if epochs} == {STORY, PLANTED}
    assert shipped[PLANTED] == (0, 3, 6, 9, 12) and (shipped[STORY][0], shipped[STORY][-1]) == (0, 150)
    others = {arm: STUDY.published_epochs(params, arm, params.seeds[9]) for arm in ARMS}
    assert {arm: epochs for arm, epochs in others.items() if epochs} == {PLANTED: (12,), STORY: (150,)}
    assert all(STUDY.published_epochs(params, arm, params.seeds[10]) == () for arm in ARMS)
    assert all(battery_of(STUDY, params, arm).settings.own == motif_measures.SECTIONS for arm in ARMS)
