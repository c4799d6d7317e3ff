"""Chapter and birth lab on the published runs: the same births, and one number for how far they lie apart."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import vl_convert
from measured import battery_of

import paper
from circuitcore.emergence.spread import spread_per_seed
from circuitcore.training.store.run_store import RunStore
from livingpaper.book import studies
from livingpaper.claims.results import Results
from livingpaper.figures import style, vega
from livingpaper.figures.births_lab import births_lab
from retrieval_circuits.six_run_matrix.design import MATRIX, N_ON_IT
from retrieval_circuits.six_run_matrix.figures.birth_lab import DEFINITIONS
from retrieval_circuits.six_run_matrix.figures.page_numbers import unborn_numbers
from retrieval_circuits.six_run_matrix.readings import timing
from retrieval_circuits.six_run_matrix.readings.births import SHOWN, corrected_births, published_births

STUDY, PARAMS = studies.load("six_run_matrix"), studies.load_params("six_run_matrix")
PUBLISHED = Path(paper.__file__).resolve().parent / "published"
CLAIMS = {claim.id: claim for claim in STUDY.CLAIMS}
RULES = {"This chapter's definition": corrected_births, "The source's definition": published_births}


@pytest.fixture(scope="module")
def results():
    """What was measured on the published matrix: the arms that births are dated in."""
    store, tables, histories = RunStore(PUBLISHED, None), [], []
    for arm in MATRIX:
        key = battery_of(STUDY, PARAMS, arm).key
        for recipe in STUDY.recipes(PARAMS)[arm]:
            run = store.find(recipe)
            assert run is not None, f"{recipe.run_id} is not published"
            whose = {"arm": arm, "init_seed": recipe.init_seed}
            table = store.load_table(run, key).assign(**whose)
            words = [name for name in table if isinstance(table[name].dtype, pd.CategoricalDtype)]
            tables.append(table.astype({name: "str" for name in words}))
            histories.append(run.history.assign(run_id=run.run_id, **whose))
    return Results(pd.concat(tables, ignore_index=True), pd.concat(histories, ignore_index=True), "paper")


@pytest.fixture(scope="module")
def first_ten(results):
    """The same of the networks that were trained on the source's data set, whose numbers were published first."""
    tables = (
        table[table["init_seed"] < N_ON_IT].reset_index(drop=True) for table in (results.measurements, results.history)
    )
    return Results(*tables, "paper")


@pytest.fixture(scope="module")
def lab(results):
    """The chapter's lab as a specification."""
    return style.specification(births_lab(STUDY.VIEWS["birth_lab"](results), definitions=DEFINITIONS))


def drawn(lab, **setting):
    """Births by run and motif, and all words, with the controls moved."""
    params = [{**param, "value": setting.get(param["name"], param["value"])} for param in lab["params"]]
    spec = {name: part for name, part in lab.items() if name != "usermeta"} | {"params": params}
    svg = vl_convert.vegalite_to_svg(spec, vl_version=vega.version())
    cells = re.findall(r'aria-label="motif: ([^"]*?); run: ([^"]*?); born: (\d+|never)"', svg)
    words = " ".join(re.sub(r"<[^>]*>", " ", svg).split())
    return {(run, motif): None if epoch == "never" else int(epoch) for motif, run, epoch in cells}, words


def apart(words):
    return float(re.search(r"in one run lie ([\d.]+) epochs apart", words)[1])


@pytest.mark.parametrize(
    ("born_under", "claim", "effect", "interval"),
    [
        (corrected_births, "SR5", 11.1, (7.520037517916167, 14.679962482083832)),
        (published_births, "SR5.published", 60.5, (39.33072623335791, 81.66927376664209)),
    ],
)
def test_the_claims_say_of_the_first_ten_what_they_said(first_ten, born_under, claim, effect, interval):
    found = CLAIMS[claim].held(first_ten).estimate
    assert (found.effect, found.n) == (pytest.approx(effect, abs=1e-12), 10)
    assert (found.low, found.high) == pytest.approx(interval, abs=1e-12)
    assert spread_per_seed(born_under(first_ten), SHOWN).mean() == pytest.approx(effect, abs=1e-12)


@pytest.mark.parametrize(("claim", "born_under"), [("SR5", corrected_births), ("SR5.published", published_births)])
def test_the_claims_count_each_data_set_once(results, claim, born_under):
    spread = spread_per_seed(born_under(results), SHOWN)
    of_source = spread.index.to_numpy() < N_ON_IT
    means = np.append(spread[~of_source].to_numpy(), spread[of_source].mean())
    found = CLAIMS[claim].held(results).estimate
    assert (found.effect, found.n, found.n_sets) == (pytest.approx(means.mean()), len(spread), len(means))


def test_births_that_never_come_would_widen_a_spread_and_leave_ours_below_the_bound(first_ten):
    for born_under, mean in ((corrected_births, 17.35), (published_births, 118.0)):
        left_out, at_the_end = timing.apart(first_ten, born_under), timing.apart_at_least(first_ten, born_under)
        assert (at_the_end >= left_out).all() and at_the_end.mean() == pytest.approx(mean, abs=1e-12)
    printed = unborn_numbers(STUDY.VIEWS["unborn"](first_ten))
    assert printed == {
        "apart_source": "60 [39, 82]", "ungated": "24 [6, 42]",
        "at_end_source": "118 [103, 133]", "at_end_ours": "17 [2, 33]",
        "no_slot_source": "55 [33, 77]", "no_slot_ungated": "14 [11, 17]", "no_slot_ours": "11 [7, 15]",
    }  # fmt: skip
    spreads = timing.wide(published_births(first_ten), timing.ORDERED)
    ungated = timing.wide(published_births(first_ten, gate=False), SHOWN)
    for epochs, mean in ((spreads, "55"), (ungated, "24")):
        by_hand = epochs.max(axis=1) - epochs.min(axis=1)  # 0 where a single one is born
        assert f"{by_hand.groupby('init_seed').mean().mean():.0f}" == mean


@pytest.mark.parametrize(("name", "born_under"), RULES.items())
def test_the_lab_dates_births_as_the_claims_do_and_gives_the_mean_of_networks(results, lab, name, born_under):
    settings = lab["usermeta"]["presets"]["settings"][name]
    births, words = drawn(lab, definition=name, **settings)
    wanted = born_under(results)
    assert births == {
        (f"{row.arm} {row.init_seed}", row.motif): None if pd.isna(row.by) else row.by for row in wanted.itertuples()
    }
    assert f"{name}. Born: " in words
    assert apart(words) == pytest.approx(spread_per_seed(wanted, SHOWN).mean(), abs=0.051)  # one digit is printed


def test_the_lab_opens_on_the_chapters_own_definition(lab):
    at_start = {param["name"]: param["value"] for param in lab["params"] if "bind" in param}
    own = "This chapter's definition"
    assert at_start == {"definition": own, **lab["usermeta"]["presets"]["settings"][own]}


def test_the_gate_takes_nearly_half_of_the_distance_and_the_scores_most_of_the_rest(lab):
    """What the chapter says beside the lab, and that gates which bind differently give different numbers."""
    source = lab["usermeta"]["presets"]["settings"]["The source's definition"]
    changes = {
        "as published": {}, "no gate": {"gate": "none"}, "families": {"gate": "named"},
        "held for two": {"gate": "none", "held": 2}, "our scores": {"gate": "none", "scores": "ours"},
    }  # fmt: skip
    found = {what: apart(drawn(lab, **{**source, **change})[1]) for what, change in changes.items()}
    assert 0.4 < 1 - found["no gate"] / found["as published"] < 0.5, found
    assert found["no gate"] != found["families"]
    assert found["no gate"] - found["our scores"] > found["no gate"] / 2, found
    assert found["no gate"] - found["our scores"] > 4 * abs(found["no gate"] - found["held for two"]) > 0
