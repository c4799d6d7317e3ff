"""What a rerun of few seeds can be told: whether its effect is one that the published seeds expect."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from judged import data_sets, judged
from scipy import stats

from circuitcore.emergence.seeds import SeedsError, prediction_interval
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.new_runs import brings_new
from livingpaper.claims.predictions import predict, summary
from livingpaper.claims.rules import Counted, Share
from livingpaper.claims.units import COUNT, NUMBER, SCORE, SEEDS, at_least
from livingpaper.claims.verdict import from_json, to_json
from livingpaper.commands.rerun import Rerun, compared
from livingpaper.figures.verdict_text import claim_html, claim_lines

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = (0.90, 0.95, 0.92, 0.97, 0.91)


def both(published, rerun, **changes):
    """The paper's verdict and the reader's, on numbers that have no ends."""
    changes = {"unit": NUMBER, **changes}
    return [judged(published, origin="paper", **changes), judged(rerun, origin="rerun", **changes)]


def predicted(published, rerun, **changes):
    return predict(*both(published, rerun, **changes))


@pytest.mark.parametrize("n_new", [1, 2, 7])
def test_the_interval_against_scipy(n_new):
    """A Student t whose scale is that of a difference of two means."""
    n = len(PUBLISHED)
    scale = math.sqrt(np.var(PUBLISHED, ddof=1) * (1 / n_new + 1 / n))
    low, high = stats.t(df=n - 1, loc=np.mean(PUBLISHED), scale=scale).interval(0.95)
    found = prediction_interval(PUBLISHED, n_new)
    assert (found.low, found.high, found.n) == (pytest.approx(low), pytest.approx(high), n)
    assert found.mean == pytest.approx(np.mean(PUBLISHED))


def test_the_interval_by_hand():
    # 1..5: mean 3, standard deviation sqrt(2.5), t(.975, 4) = 2.776445
    found = prediction_interval([1, 2, 3, 4, 5])
    assert found.high - 3 == pytest.approx(2.776445 * math.sqrt(2.5) * math.sqrt(1.2), abs=1e-5)


@pytest.mark.parametrize(("n", "n_new"), [(3, 1), (5, 1), (10, 3)])
def test_the_interval_covers_as_often_as_it_says(n, n_new):
    drawn = np.random.default_rng(5).normal(2.0, 3.0, size=(8000, n + n_new))
    found = [prediction_interval(row[:n], n_new) for row in drawn]
    inside = [one.low <= row[n:].mean() <= one.high for one, row in zip(found, drawn, strict=True)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize(("values", "n_new"), [([0.9], 1), ([], 1), ([0.9, 0.8], 0), ([0.9, math.nan], 1)])
def test_what_predicts_nothing_is_refused(values, n_new):
    with pytest.raises(SeedsError, match="prediction_interval"):
        prediction_interval(values, n_new)
    with pytest.raises(SeedsError, match=r"data sets of 9 seeds, values of 5"):
        prediction_interval(PUBLISHED, sets=range(9))
    with pytest.raises(SeedsError, match=r"at least 2 data sets, and 1 further seed; got 1 and 1"):
        prediction_interval(PUBLISHED, sets=[7] * 5)


def test_one_seed_inside_and_outside():
    found = predicted(PUBLISHED, [0.96])
    wanted = prediction_interval(PUBLISHED)
    assert found.inside is True and found.interval == (wanted.low, wanted.high)
    assert found.sentence == (
        "Your seed: 0.96, inside what one more seed of the published design should give "
        "(95 % prediction interval [0.84, 1.02])."
    )
    far = predicted(PUBLISHED, [0.80])
    assert far.inside is False and far.sentence.startswith("Your seed: 0.80, outside what one more seed")


def test_several_seeds_are_held_against_what_as_many_should_give():
    """A mean that one seed may well have, two seldom have."""
    assert predicted(PUBLISHED, [0.858]).inside is True
    found = predicted(PUBLISHED, [0.857, 0.859])
    assert found.inside is False
    assert found.sentence.startswith("Your 2 seeds: 0.86 on average, outside what 2 more seeds of the published")


def test_a_share_is_cut_to_what_is_possible_and_says_so():
    found = predicted(PUBLISHED, [1.0], unit=SCORE)
    assert found.inside is True and found.interval[1] == 1.0 and found.interval[0] < 0.9
    assert "(95 % prediction interval [0.84, 1.00], cut to what is possible)" in found.sentence
    assert predicted(PUBLISHED, [1.0]).interval[1] > 1


COUNT_OF_ROWS = {"rule": Counted(), "unit": COUNT, "bound": at_least(1, "any"), "min_seeds": 0}


@pytest.mark.parametrize(
    ("published", "rerun", "changes", "words"),
    [
        ([1.0] * 5, [1.0], {}, "all 5 published seeds gave 1.00; yours gave the same"),
        ([1.0] * 5, [0.93], {}, "all 5 published seeds gave 1.00; yours: 0.93"),
        ([0.9], [0.93], {}, "one published seed shows no spread"),
        ([1.0] * 5, [1.0], {"rule": Share(), "unit": SEEDS}, "a share or a count"),
        (3.0, 3.0, COUNT_OF_ROWS, "a share or a count"),
        (None, [0.93], {}, "not checked on the published runs"),
        (PUBLISHED, None, {}, "not checked on your runs"),
    ],
)
def test_where_nothing_is_predicted_the_reason_is_said(published, rerun, changes, words):
    found = predicted(published, rerun, **changes)
    assert (found.interval, found.inside) == (None, None)
    assert found.sentence.startswith("No prediction interval: ") and words in found.sentence


def test_sets_of_one_seed_each_predict_as_seeds_do():
    alone = prediction_interval(PUBLISHED, 2)
    assert prediction_interval(PUBLISHED, 2, sets="abcde") == alone
    assert predicted(data_sets(*([value] for value in PUBLISHED)), [0.9, 0.94]).interval == (alone.low, alone.high)


def test_seeds_that_share_a_data_set_are_one_draw_of_it():
    """Sets differ far more than seeds within: three seeds of one set scatter as one set does, not as three."""
    published = data_sets(*([value, value + 0.001] for value in PUBLISHED))
    of_one, of_three = predicted(published, data_sets([0.9, 0.91, 0.9])), predicted(published, data_sets(*[[0.9]] * 3))
    sets = np.repeat(range(5), 2).tolist()
    for found, n_new in ((of_one, 1), (of_three, 3)):
        wanted = prediction_interval(published.tolist(), n_new, sets=sets)
        assert found.interval == (wanted.low, wanted.high)
    assert of_one.interval[0] < of_three.interval[0]


def test_data_sets_of_unequal_sizes_predict_about_the_mean_of_their_means():
    """About what the claim's effect is, and as wide as seeds scatter between sets and within."""
    values, sets = [3.0, 5.0, 1.0, 9.0, 7.0], [0, 0, 1, 2, 0]
    found = prediction_interval(values, 2, sets=sets)
    of_means, within = np.var([5.0, 1.0, 9.0], ddof=1), (4 + 0 + 4) / 2
    half = stats.t.ppf(0.975, 2) * math.sqrt(of_means * (1 / 2 + 1 / 3) + (1 - (1 / 3 + 1 + 1) / 3) * within / 2)
    assert found.mean == pytest.approx(5.0) and found.n == 3
    assert (found.low, found.high) == (pytest.approx(5 - half), pytest.approx(5 + half))


@pytest.mark.parametrize("between", [0.1, 1.0, 10.0])
def test_the_interval_of_ten_seeds_of_one_set_and_of_25_more_sets_covers(between):
    sets, chance = [0] * 10 + [*range(1, 26)], np.random.default_rng(4)
    inside = []
    for _ in range(2000):
        values = between * chance.normal(size=26)[sets] + chance.normal(size=35)
        found, further = prediction_interval(values, sets=sets), math.hypot(between, 1) * chance.normal()
        inside.append(found.low <= further <= found.high)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)


def test_seeds_of_data_sets_predict_about_the_effect_of_the_claim():
    values = data_sets(PUBLISHED, [0.5], [0.6, 0.7])
    before, now = both(values.sample(frac=1, random_state=0), [0.93])
    found, wanted = predict(before, now), prediction_interval(values, sets=values.index.get_level_values(0).to_list())
    assert found.interval == (pytest.approx(wanted.low), pytest.approx(wanted.high))
    assert wanted.mean == pytest.approx(before.estimate.effect) and abs(wanted.mean - values.mean()) > 0.1
    kept = from_json(to_json([before], samples=True))[0]
    assert predict(kept, now) == found
    slim = from_json(to_json([before]))[0]
    assert "were not kept" in predict(slim, now).sentence


def test_the_page_of_a_rerun_says_it_and_the_books_page_does_not():
    verdicts = both(PUBLISHED, [0.96])
    said = predict(*verdicts).sentence
    assert said in claim_lines(verdicts) and said in claim_html(verdicts)
    assert not any("prediction" in line for line in claim_lines(verdicts[:1]))
    assert not any("prediction" in line for line in claim_lines(verdicts[1:]))


def records_of(*verdicts):
    return json.loads(to_json(verdicts, samples=True))


def test_the_comparison_leads_with_it():
    verdicts = both(PUBLISHED, [0.96])
    (record,) = compared(records_of(*verdicts))
    assert list(record)[:5] == ["claim", "sentence", "inside", "prediction", "says"]
    wanted = predict(*verdicts)
    assert record["inside"] is True and record["says"] == wanted.sentence
    assert record["prediction"] == pytest.approx(wanted.interval)
    assert record["same"] is False and record["paper"]["n"] == 5 and record["rerun"]["effect"] == 0.96
    (alone,) = compared(records_of(verdicts[1]))
    assert alone["inside"] is alone["prediction"] is alone["says"] is alone["same"] is None


def test_the_summary_counts_and_names():
    verdicts = [
        *both(PUBLISHED, [0.96]),
        *both(PUBLISHED, [0.5], claim_id="C2"),
        *both([1.0] * 5, [1.0], claim_id="C3"),
    ]
    made = Rerun(Path("page"), Path("comparison"), tuple(records_of(*verdicts)))
    assert made.summary == "1 of 2 effects lie inside what the published seeds predict for yours; outside: C2."
    many = {f"C{number}": predicted(PUBLISHED, [0.93]) for number in range(40)}
    assert summary(many).endswith("By chance alone, about 2 would lie outside.")
    assert summary({}) == "No claim has a prediction interval to hold your seeds against."
    other = summary(many, ("epochs", "learning_rate"))
    assert other.endswith("Your runs are of another design than the published ones: epochs, learning_rate.")
    assert "no published" in Rerun(Path("page"), Path("comparison"), ()).summary


def test_published_records_keep_their_form_and_a_rerun_s_hold_the_values():
    """What is published has no values of single seeds; what compares a rerun needs them."""
    verdicts = tuple(both(PUBLISHED, [0.96], unit=SCORE))
    slim = to_json(verdicts)
    assert '"values"' not in slim and from_json(slim) == verdicts, "values of single seeds decide nothing"
    text = to_json(verdicts, samples=True)
    again = from_json(text)
    assert again == verdicts and to_json(again, samples=True) == text
    assert again[0].estimate.values == PUBLISHED and again[1].estimate.values == (0.96,)
    assert (again[1].estimate.low, again[1].estimate.high) == (-math.inf, math.inf)
    assert predict(*again) == predict(*verdicts)
    assert "the values of the published seeds were not kept" in predict(*from_json(slim)).sentence


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ({"seeds": (0, 101)}, "are published ones, and tell nothing new"),
        ({"seeds": (101,), "engine": "torch"}, ""),
        ({"seeds": (101,), "learning_rate": 0.002}, "Not only the seeds are yours: other values of learning_rate."),
    ],
)
def test_seeds_that_are_not_new_or_not_all_that_is_new_are_named(instead, said, tmp_path):
    params = studies.load_params("symbolic_kv").model_copy(update={**instead, "control_seeds": (), "torch_seeds": ()})
    evidence = Evidence("symbolic_kv", params, Folders(ROOT, tmp_path, ROOT / "published"))
    lines = evidence.situation().splitlines()
    assert len(lines) == 2 + bool(said) and said in lines[-1]
    assert evidence.changed == (("learning_rate",) if "learning_rate" in instead else ())


def test_claims_on_published_runs_alone_are_told_nothing_new(tmp_path):
    """Seed 101 is new, its controls are the published ones: what the controls alone are asked is answered already."""
    claims = {claim.id: claim for claim in studies.load("symbolic_kv").CLAIMS}

    def with_changes(**changes):
        params = studies.load_params("symbolic_kv").model_copy(update=changes)
        evidence = Evidence("symbolic_kv", params, Folders(ROOT, tmp_path, ROOT / "published"))
        return {name for name, claim in claims.items() if brings_new(evidence, claim)}

    assert "KV1" in with_changes(seeds=(101,)) and "KV1.published" not in with_changes(seeds=(101,))
    assert with_changes(seeds=(101,), n_bases=8) == set(claims) and with_changes(control_seeds=(0,)) == set()


def test_what_is_not_new_is_held_against_nothing():
    records = records_of(*both(PUBLISHED, [0.96]), *both(PUBLISHED, PUBLISHED, claim_id="C2"))
    fresh, old = compared(records, ("C2",))
    assert fresh["inside"] is True and old["inside"] is old["prediction"] is None
    assert old["says"] == "No new run of yours is measured here." and old["same"] is True
    made = Rerun(Path("page"), Path("comparison"), tuple(records), old=("C2",))
    assert made.summary == "1 of 1 effects lie inside what the published seeds predict for yours."
