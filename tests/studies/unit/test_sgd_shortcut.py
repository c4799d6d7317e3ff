"""SGD formation: whose values early answers are, what both streams show at first, and which head does both."""

import pandas as pd
import pytest

from circuitcore.tasks.balanced_stream import BalancedStream
from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.design import FRESH, SOURCE
from retrieval_circuits.sgd_formation.figures import chapter, late, shortcut, streams
from retrieval_circuits.sgd_formation.measures import SIZES


def rows(arm, seed, step, metric, value, **more):
    at = {"n": 100, "layer": pd.NA, "head": pd.NA, "site": "", "variable": "", "edit": "", "family": "", **more}
    split = "test" if arm == FRESH else "test_iid"
    return {"arm": arm, "init_seed": seed, "run_id": f"{arm} {seed}", "step": step, "tokens_seen": step,
            "metric": metric, "value": value, "split": split, **at}  # fmt: skip


def results(table, **tables):
    table = pd.DataFrame(table).astype({"layer": "Int64", "head": "Int64"})
    return Results(table, pd.DataFrame(), "paper", tables=tables) if tables else Results(table, pd.DataFrame(), "paper")


def test_where_the_rule_is_wrong_its_value_and_the_right_one_are_counted_once_half_is_right():
    """Of 100 reads the rule misses 20. Network 1 is half right at step 2: of the 20 it gives 10 by rule and 2 right."""
    table = []
    for seed, right, of_wrong in ((1, {1: 0.2, 2: 0.5, 3: 0.9}, (0.5, 0.1)), (2, {1: 0.6, 2: 0.7, 3: 0.8}, (0.1, 0.3))):
        for step, share in right.items():
            at_half = step == (2 if seed == 1 else 1)
            given, found = of_wrong if at_half else (0.9, 0.9)
            table += [rows(SOURCE, seed, step, "accuracy", share), rows(SOURCE, seed, step, "unmoved", 0.5, n=10)]
            table += [rows(SOURCE, seed, step, "gives", given, n=20, variable="2 back")]
            table += [rows(SOURCE, seed, step, "right", found, n=20, variable="2 back")]
    view = shortcut.by_rule(results(table))
    assert view.table["step"].tolist() == ["2", "1"]
    assert view.table.iloc[:, 3:7].to_numpy().tolist() == [[0.2, 0.5, 0.1, 0.58], [0.2, 0.1, 0.3, 0.56]]
    assert shortcut.numbers(view) == {
        "rule_wrong": "20 %", "rule_given": "30 %", "rule_right": "20 %", "rule_least": "10 %", "rule_most": "50 %",
    }  # fmt: skip


def test_either_stream_is_shown_as_far_as_its_first_read():
    table = streams.example(results([rows(FRESH, 1, 0, "accuracy", 0.0)])).table.set_index("stream")
    shown = table["its first words"].str.removesuffix(" ...").str.split()
    assert all("R" in words for words in shown) and min(map(len, shown)) >= streams.N_SHOWN
    assert shown["ours"].index("R") == len(shown["ours"]) - 3
    task = BalancedStream(**SIZES)
    assert " ".join(shown["ours"]) in task.decode(task.draw("test", 1, 0).tokens[0])


def test_the_prose_names_steps_rows_and_words_of_the_design():
    params = studies.load_params("sgd_formation").model_copy(update={"steps": 2_000})
    told = streams.of_design(params)
    assert (told["n_steps_ours"], told["n_steps_fixed"], told["n_steps_first"]) == ("2,000", "2,000", "3,000")
    assert (told["n_keys"], told["n_values_ours"], told["n_values_source"]) == ("8", "80", "128")


def test_levels_are_means_over_data_sets():
    group = [streams.GUESS, streams.RULES[streams.BEST]]
    table = [
        {"series": series, "group": name, "init_seed": seed, "value": value + 0.1 * (series == SOURCE)}
        for series in (SOURCE, "ours")
        for name, values in zip(group, ((0.1, 0.2), (0.3, 0.5)), strict=True)
        for seed, value in enumerate(values)
    ]
    told = streams.levels(View(pd.DataFrame(table), "share", "test"))
    assert told == {"guess_source": "25 %", "guess_ours": "15 %", "best_source": "50 %", "best_ours": "40 %"}


@pytest.mark.parametrize(("joins", "told"), [((0.9, 0.1), False), ((0.1, 0.9), True)])
def test_a_head_that_joins_and_looks_stands_once_and_the_caption_says_where(joins, told):
    """Head 1 of the second layer looks most; it joins most, too, in the second case."""
    table = []
    for layer, share in enumerate(joins):
        table.append(rows(FRESH, 7, 10, "joins", share, layer=layer, head=1))
        table.append(rows(FRESH, 7, 10, "attention", 0.2 + 0.5 * layer, layer=layer, head=1, site="support"))
    whole = [("", "none", 1.0), *((f"L{layer}H1", "zero", 0.5 - 0.2 * layer) for layer in (0, 1))]
    removed = pd.DataFrame(
        rows(FRESH, 7, 10, "removed_accuracy", value, site=site, edit=edit) for site, edit, value in whole
    )
    view = chapter.removed(results(table, removed=removed))
    groups = view.table.set_index("group")["value"].to_dict()
    assert groups[chapter.LOOKER] == pytest.approx(0.7) and (chapter.JOINER in groups) is not told
    assert ("Where one head does both (seed 7)" in view.note) is told


def test_the_prose_has_of_readers_what_their_column_has():
    table = pd.DataFrame({"what": [late.LOOKING, late.APART], "all": ["1 step", "2 steps"], "that read": ["3", "4"]})
    assert late.of_readers_alone(View(table, "as named", "test")) == {"readers_looking": "3", "readers_apart": "4"}
