"""What remarks say that another reading of the same tables would decide: each is read once more, and judged."""

import dataclasses
from functools import partial

import numpy as np
import pandas as pd
import pytest
from published_stage import claims_of

from circuitcore.emergence.order import orders
from livingpaper.claims.reading import OnDataSets
from livingpaper.claims.rules import Outcome, Share
from livingpaper.claims.units import STEPS, at_least
from retrieval_circuits.associative_memory import design as memories
from retrieval_circuits.associative_memory.claims.hidden import WIDEST
from retrieval_circuits.associative_memory.measures import OUTPUT_LAYER, WHOLE
from retrieval_circuits.associative_memory.readings import hidden
from retrieval_circuits.associative_memory.readings import memories as facts
from retrieval_circuits.bigrams_and_composition import design as bigrams
from retrieval_circuits.bigrams_and_composition.measures import K1, K2
from retrieval_circuits.bigrams_and_composition.published import ORDER
from retrieval_circuits.emergence_laws import readings as laws
from retrieval_circuits.permutation_recall.readings import parts
from retrieval_circuits.six_run_matrix.claims.roles import COSINES
from retrieval_circuits.six_run_matrix.design import MATRIX
from retrieval_circuits.six_run_matrix.readings import births, curriculum, per_seed, timing
from retrieval_circuits.symbolic_kv import readings as kv

YES, NO, OPEN = Outcome.YES, Outcome.NO, Outcome.OPEN


def judged(claim, results, values, **asked):
    """What other values, one a seed, would say to a claim's question; ``asked`` changes it."""
    reading = dataclasses.replace(claim.reading, values=_like(claim.reading.values, values))
    claim = dataclasses.replace(claim, reading=reading, **asked)
    numbers = claim.reading.of(results)
    estimate = claim.rule.estimate(numbers, claim.bound, claim.reading.unit)
    return claim.rule.outcome(estimate, claim.bound), estimate


def _like(values, others):
    """Others read in the way of the claim's own values: by data set, where those are."""
    return dataclasses.replace(values, values=others) if isinstance(values, OnDataSets) else others


def gap_of_layer_1(costs):
    """How much more the one head of the layer costs than the other."""
    return costs[costs["layer"] == 1].groupby("init_seed")["value"].agg(np.ptp)


def dearest_in_layer_0(costs):
    """Whether the head that costs most of all is in the first layer."""
    return costs.loc[costs.groupby("init_seed")["value"].idxmax()].set_index("init_seed")["layer"] == 0


def of_runs(only, edit, read):
    """What is read of the heads' costs, a column a curriculum."""
    return pd.DataFrame({arm: read(per_seed.singles_lost(only, arm, edit)) for arm in MATRIX})


def test_who_costs_most_depends_on_how_heads_are_removed():
    claims, only = claims_of("six_run_matrix")
    margin, edits = curriculum.margin_of_noise(only), ("mean@all", "resample@all")
    gaps = [of_runs(only, edit, gap_of_layer_1) for edit in edits]
    leads = [judged(claims["SR15"], only, lambda _, gap=gap: gap.gt(margin).mean(axis=1)) for gap in gaps]
    assert [(said, round(told.effect, 2)) for said, told in leads] == [(OPEN, 0.61), (YES, 0.89)]
    tied = pd.DataFrame({arm: curriculum.final_leaders(only, "routing", arm)["tied"] for arm in MATRIX})
    over = [int((gap.gt(0.1) & tied).sum().sum()) for gap in gaps]
    assert (over, int(tied.sum().sum())) == ([26, 47], 55), "about half, and most"
    first = [of_runs(only, edit, dearest_in_layer_0) for edit in edits]
    usual = [judged(claims["SR3.published"], only, lambda _, of=of: of.mean(axis=1))[0] for of in first]
    assert usual == [YES, NO]
    assert int((~first[1]).sum().sum()) == 48
    assert "48 of 70" in claims["SR3.published"].remark and "89 %" in claims["SR15"].remark


def test_controls_of_the_matrix_that_hardly_could_fail():
    claims, only = claims_of("six_run_matrix")
    shuffled = partial(COSINES, values=lambda pairs: pairs["chance_within_layers"])
    said, told = judged(claims["SR16.published"], only, shuffled)
    assert said == YES and round(told.effect, 2) == 0.96, "which is no agreement of heads"
    assert "0.96" in claims["SR16.published"].remark
    untrained = per_seed.untrained("probe_chosen", variable="query_key")(only)
    trained = per_seed.worse_run("probe_chosen", variable="query_key")(only)
    assert untrained.min() > 0.99 > trained.mean(), "training makes the key harder to read"
    value = per_seed.untrained("probe_chosen", variable="selected_value")(only)
    assert value.max() < 0.4 and "the value" in claims["SR4"].remark


def test_births_that_never_happen_and_ties_decide_what_is_said_of_births():
    claims, only = claims_of("six_run_matrix")
    counted = judged(
        claims["SR5.published"], only, lambda results: timing.apart_at_least(results, births.published_births)
    )
    ours = judged(claims["SR5"], only, lambda results: timing.apart_at_least(results, births.corrected_births))
    assert (counted[0], ours[0]) == (YES, NO)
    found = orders(births.published_births(only), by=births.RUN, pairs=[(births.COPYING, births.ROUTING)])
    decided = found.set_index(births.RUN)["order"]
    assert ((decided == "undecided").sum(), len(decided)) == (12, 70)
    asked = (decided == "before").astype(float).groupby("init_seed").mean()
    assert judged(claims["SR7.published"], only, lambda _: asked)[0] == OPEN
    epochs = timing.wide(births.corrected_births(only), timing.ORDERED).fillna(np.inf)
    behaviour, copying, routing = (epochs[motif] for motif in timing.ORDERED)
    fits = ((copying <= behaviour) & (behaviour <= routing)).astype(float).groupby("init_seed").mean()
    assert judged(claims["SR8"], only, lambda _: fits)[0] == NO and 0.75 < fits.mean() < 0.8
    delays = per_seed.behaviour_delay(only, "on")
    usually = Share(each=at_least(2000, "as the claim asks"))
    said, _ = judged(claims["SR13"], only, lambda _: delays, rule=usually, bound=at_least(0.5, "more often than not"))
    assert said == YES and len(delays) == 35 and claims["SR13"].reading.unit == STEPS
    assert judged(claims["SR13"], only, lambda _: delays.drop(delays.idxmax()))[0] == YES


def test_when_layer_1_routes_decides_whether_layer_0_comes_first(monkeypatch):
    claims, only = claims_of("symbolic_kv")
    said = {}
    for level in (0.8, 0.85, 0.9):
        monkeypatch.setitem(kv.THRESHOLDS, kv.ROUTES, level)
        kv.motif_births.cache_clear()
        said[level] = judged(claims["KV10"], only, kv.layer_0_first)[0]
    kv.motif_births.cache_clear()
    assert said == {0.8: NO, 0.85: OPEN, 0.9: OPEN}


def test_recall_without_edges_and_without_the_ffn():
    claims, only = claims_of("permutation_recall")
    without = {
        edit: parts.value_under(only, "recall_under", parts.ALL_HEADS, edit)
        for edit in ("cut y_source", "cut other y", "cut x_source")
    }
    assert without["cut y_source"].max() < 0.5, "which no network of one layer exceeds"
    assert without["cut other y"].mean() == pytest.approx(0.10, abs=0.01) and without["cut x_source"].max() < 0.01
    linear, constant = (parts.value_under(only, "recall_under", "L0MLP", edit) for edit in ("linear", "mean"))
    assert 0 < linear.mean() - constant.mean() < 0.02
    assert "hardly better than the FFN's mean" in claims["PR15"].remark
    differ = [int((parts.role_separation(only, how) >= 0.5).sum()) for how in ("mean", "resample", "zero")]
    assert differ == [40, 39, 17], "nearly as many, and fewer than half of 49"


def test_attention_to_the_asked_x_formed_at_three_quarters():
    claims, only = claims_of("emergence_laws")
    for arm in ("permutation", "permutation_again"):
        look = laws.formed(only, arm, laws.FINDS, 0.75)
        recalled = laws._on_the_way(laws.scored(only, arm, laws.RECALL), 0.75)
        assert judged(claims["EL27"], only, lambda _, waits=recalled - look: waits)[0] == OPEN
    again = laws.told_first("permutation_again", laws.FINDS)(only)
    assert judged(claims["EL26"], only, lambda _: again)[0] == OPEN


def formed(rows, memory, level):
    """By hand: the first step at which a memory recalls a level, one number or one a seed; missing if never."""
    reached = rows.pivot(index="step", columns="init_seed", values=memory).sort_index().ge(level)
    return reached.idxmax().astype(float).where(reached.any())


def test_levels_at_which_memories_have_formed():
    claims, only = claims_of("bigrams_and_composition")
    rows = only.rows(bigrams.LEARNING, way=bigrams.WITH_ADAM)
    said = {}
    for part in (0.25, 0.5, 0.75, 0.9):
        ends = {
            memory: part * rows[rows["step"] == rows["step"].max()].set_index("init_seed")[memory] for memory in ORDER
        }
        dates = [formed(rows, memory, ends[memory]) for memory in ORDER]
        gaps = np.minimum(dates[1] - dates[0], dates[2] - dates[1])
        said[part] = judged(claims["BC5"], only, lambda _, gaps=gaps: gaps)[0]
    assert said == {0.25: OPEN, 0.5: YES, 0.75: YES, 0.9: OPEN}
    rows = only.rows(bigrams.EVERYTHING)
    waits = formed(rows, K1, 0.5) - formed(rows, K2, 0.5)
    assert judged(claims["BC23"], only, lambda _: waits)[0] == YES and waits.min() > 0


def test_how_near_to_a_guess_counts_as_one(monkeypatch):
    claims, only = claims_of("associative_memory")
    said = {}
    for near in (0.03, 0.05, 0.2):
        monkeypatch.setattr(facts, "NEAR", near)
        outcome, told = judged(claims["AM17"], only, claims["AM17"].reading.values)
        said[near] = (outcome, round(told.effect, 2))
    assert {near: outcome for near, (outcome, _) in said.items()} == {0.03: NO, 0.05: YES, 0.2: YES}
    assert said[0.03][1] == 0.22


def test_where_recall_of_mlps_and_matrices_ends_by_other_looks():
    claims, only = claims_of("associative_memory")
    rows = only.rows(memories.HIDDEN_LAYER, trained=WHOLE, classes=0, rate=memories.HIDDEN_RATES[0])
    ends = {}
    for steps, part in rows.groupby("steps"):
        table = facts.loads_of(part, "d", "hidden").rename("load").reset_index()
        ends[steps] = table.assign(product=table["d"] * table["hidden"])
    first, last = sorted(ends)
    assert (4 * first, round(hidden.at_size(ends[first], WIDEST).mean(), 2)) == (last, 2.11)
    narrow = ends[first][ends[first]["d"] == memories.NARROW]
    for correction in ("1/ln N", "1/√p"):
        _, told = judged(claims["AM28"], only, lambda _, by=correction: hidden.intercepts(narrow, by))
        assert told.high < 2.86
    sources = facts.matrices(only, memories.SOURCES)
    sources = sources[(sources["steps"] == sources["steps"].max())]
    recall = sources[sources["d"] == sources["d"].max()].groupby("load")["accuracy"].mean()
    after = recall[recall < 0.99].index[0]
    before = recall[recall >= 0.99].index[-1]
    assert np.interp(-0.99, -recall[[before, after]], [before, after]) == pytest.approx(0.86, abs=0.01)


def test_recall_with_the_output_layer_alone_still_rises():
    claims, only = claims_of("associative_memory")
    rows = only.rows(memories.HIDDEN_LAYER, trained=OUTPUT_LAYER, classes=0, rate=memories.HIDDEN_RATES[0])
    d, hidden_units = WIDEST
    rows = rows[(rows["d"] == d) & (rows["hidden"] == hidden_units) & (rows["load"] == 1.0)]
    recall = rows.groupby("steps")["accuracy"].mean()
    assert recall.index[-1] == 4 * recall.index[0] and recall.round(2).to_list() == [0.58, 0.91]
    assert "from 58 to 91 %" in claims["AM32"].remark


def test_the_killing_experiment_at_all_four_sizes():
    claims, only = claims_of("associative_memory")
    table = only.rows(memories.TRANSFERS).astype({"rest": str})
    means = table.groupby(["n_subjects", "n_relations", "rest"])[["first", "new", "composed"]].mean()
    both = [
        size
        for size in means.index.droplevel("rest").unique()
        if means.loc[(*size, "embeddings frozen"), "first"] >= 0.95
        and means.loc[(*size, "never trained, louder"), "new"] <= 0.9
    ]
    assert both == [(32, 8)]
    louder = means.xs("never trained, louder", level="rest")["new"]
    known = means.xs("embeddings frozen", level="rest")["first"]
    assert (louder[:, 4] > 0.9).all() and known[64, 8] == pytest.approx(0.74, abs=0.01)
    of_memory, of_learnt = (means.xs(f"embeddings {how}", level="rest")["composed"] for how in ("frozen", "learnt"))
    assert (of_memory < 0.6).all() and (of_learnt > of_memory).all()
    assert "one of four sizes" in claims["AM23"].remark
