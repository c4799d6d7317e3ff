"""What the seeds that would decide a claim take here: from a study whose durations are known."""

import dataclasses
import json

import pandas as pd
import pytest

from circuitcore.metrics.instruments import measuring
from circuitcore.training.sweeps import sweep
from livingpaper.book import price as book_price
from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from livingpaper.book.price import price
from livingpaper.claims.results import Results
from livingpaper.claims.units import at_least
from livingpaper.claims.verdict import Status
from livingpaper.figures.verdict_text import claim_html, claim_lines, claim_markdown, claim_text, what_would_decide
from tests.support import toy_task

TOY = toy_task.__name__
STEP, CHECKPOINT = f"a step of {TOY} (torch, batches of 50)", f"a checkpoint of {TOY} ({{key}})"
STEPS, CHECKPOINTS = 12 * 300 // 50, 3  # of a seed: twelve epochs of 300 rows; untrained, after four epochs, at the end
SCATTERED = [0.92, 0.99, 0.85, 0.97, 0.92]  # on both sides of nine tenths


@pytest.fixture(autouse=True)
def two_workers(monkeypatch):
    """Training and measuring share out their runs among as many processes everywhere."""
    for module in (sweep, measuring, book_price):
        monkeypatch.setattr(module, "width", lambda executor, workers=None: 2)


@pytest.fixture
def evidence(tmp_path):
    folders = Folders(tmp_path, tmp_path / "runs", tmp_path / "published")
    return Evidence(TOY, studies.validate(TOY, {"seeds": [0, 1, 2, 3, 4]}), folders)


def remember(evidence, **seconds):
    """Let it be known what a step and a checkpoint take."""
    (instrument, *_) = evidence.instruments["trained"]
    names = {"step": STEP, "checkpoint": CHECKPOINT.format(key=instrument.key)}
    path = evidence.folders.root / "build/durations.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({names[kind]: value for kind, value in seconds.items()}))


def verdict(values, arms=("trained",)):
    rows = [
        (arm, seed, f"r{arm}{seed}", step, "accuracy", "test", value if step else 0.2)
        for arm in arms
        for seed, value in enumerate(values)
        for step in (0, 72)
    ]
    table = pd.DataFrame(rows, columns=["arm", "init_seed", "run_id", "step", "metric", "split", "value"])
    return toy_task.CLAIMS[0].verdict(Results(table, table, "paper"))


UNDECIDED = verdict(SCATTERED)


def lacking():
    """More seeds that would decide, as the card says."""
    return int(what_would_decide(UNDECIDED).split()[0])


def test_the_price_is_that_of_training_and_measuring_the_seeds_that_lack(evidence):
    assert UNDECIDED.status == Status.UNDECIDED and lacking() > 2
    remember(evidence, step=10, checkpoint=100)
    # Of two workers each trains half of the seeds, and measures half of them.
    seconds = lacking() * (STEPS * 10 + CHECKPOINTS * 100) / 2
    assert seconds > 5400 and price(evidence, UNDECIDED) == f"about {seconds / 3600:.1f} h here"


def test_a_seed_costs_what_it_does_though_the_first_ones_are_here(evidence):
    """What has been trained already is not what is lacking."""
    remember(evidence, step=10, checkpoint=100)
    before = price(evidence, UNDECIDED)
    small = dataclasses.replace(evidence, params=toy_task.Params(seeds=(0,)))
    small.gather(None, "serial")
    remember(evidence, step=10, checkpoint=100)  # gathering has remembered what it took
    assert evidence.store.find(evidence.arms["trained"][0]) is not None
    assert price(evidence, UNDECIDED) == before


def test_every_arm_that_the_claim_reads_is_paid_for(evidence, monkeypatch):
    remember(evidence, step=10, checkpoint=100)
    one, (claim,) = price(evidence, UNDECIDED), toy_task.CLAIMS
    recipes = toy_task.recipes
    monkeypatch.setattr(
        toy_task, "recipes", lambda params: {arm: recipes(params)["trained"] for arm in ("trained", "control", "other")}
    )
    elsewhere = dataclasses.replace(
        claim.controls[0],
        reading=dataclasses.replace(claim.controls[0].reading, values=lambda results: None, arms=("control",)),
    )
    monkeypatch.setattr(toy_task, "CLAIMS", (dataclasses.replace(claim, controls=(elsewhere,)),))
    two = price(dataclasses.replace(evidence), UNDECIDED)
    hours = [float(words.split()[1]) for words in (one, two)]
    assert hours[1] == pytest.approx(2 * hours[0], abs=0.11), "the third arm is not read"


@pytest.mark.parametrize("known", [{}, {"step": 10}, {"checkpoint": 100}])
def test_where_a_part_is_not_known_there_is_no_price(evidence, known):
    remember(evidence, **known)
    assert price(evidence, UNDECIDED) == ""


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ([0.95, 0.96, 0.97, 0.96, 0.95], Status.SUPPORTED),
        ([0.5, 0.51, 0.52, 0.53, 0.5], Status.REFUTED),
        ([0.89, 0.99, 0.81, 0.91, 0.9005], Status.UNDECIDED),  # 0.9001 beside 0.9: never
    ],
)
def test_what_no_seeds_are_lacking_for_has_no_price(evidence, values, status):
    remember(evidence, step=10, checkpoint=100)
    found = verdict(values)
    assert found.status == status and price(evidence, found) == ""


def test_what_was_not_checked_has_no_price(evidence):
    remember(evidence, step=10, checkpoint=100)
    found = verdict(SCATTERED, arms=("other",))
    assert found.status == Status.NOT_CHECKED and price(evidence, found) == ""


def test_every_form_of_a_card_says_the_price_once(evidence):
    remember(evidence, step=10, checkpoint=100)
    said = price(evidence, UNDECIDED)
    words = f"{lacking()} more seeds would decide it if the effect stays ({said})."
    assert words in claim_lines([UNDECIDED], said)
    for form in (claim_markdown, claim_html, claim_text):
        assert form([UNDECIDED], None, said).count(words) == 1
        assert "would decide it if the effect stays." in form([UNDECIDED])


def test_the_toy_claim_is_what_the_numbers_above_are_made_for():
    (claim,) = toy_task.CLAIMS
    assert claim.bound == at_least(0.9, claim.bound.why) and claim.arms == ("trained",)
