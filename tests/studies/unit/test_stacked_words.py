"""Networks of words in the chapter on stacked heads: readers' scores, what is measured, and what is read off it."""

from dataclasses import replace
from functools import cache
from itertools import chain, product
from random import Random
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from circuitcore.metrics.network import Network
from circuitcore.tasks.chain_prompts import FORMULATIONS, World, draw_world
from circuitcore.tasks.chain_prompts.formulations import COUNTRIES, DIGITS, MEN, WOMEN
from circuitcore.tasks.chain_words import ChainWords
from circuitcore.training.store.run_store import RunStore
from livingpaper.book import studies
from livingpaper.claims.results import Results
from retrieval_circuits.stacked_heads import design
from retrieval_circuits.stacked_heads.design import EQUATIONS, KNOWN, RELATIVES, SPOKEN
from retrieval_circuits.stacked_heads.design.words import CORPORA, n_passes, share_repeated, word_task
from retrieval_circuits.stacked_heads.figures import words as figures
from retrieval_circuits.stacked_heads.figures import words_prose
from retrieval_circuits.stacked_heads.measures import KnownLinks, WordCounts, known_links, word_scores
from retrieval_circuits.stacked_heads.measures import words as measures
from retrieval_circuits.stacked_heads.readings import words as readings

PUBLISHED, SMOKE = studies.load_params("stacked_heads"), studies.load_params("stacked_heads", "smoke")


@cache
def scores():
    """Of readers who know some links alone; computed when it is asked for, not when tests are collected."""
    return known_links(KnownLinks(n_prompts=60))


def score(name, look_ups, read):
    rows = scores().query("formulation == @name and look_ups == @look_ups and read == @read")
    return rows["accuracy"].item()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_who_leaves_any_link_of_an_equation_unread_guesses(depth):
    rows = scores().query("formulation == 'F1' and look_ups == @depth")
    assert len(rows) == 2**depth
    assert set(rows.loc[rows["n_read"] < depth, "accuracy"]) == {0.25}
    assert rows.loc[rows["n_read"] == depth, "accuracy"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("read", "right"),
    [
        ("", 1 / 16),
        ("relatives, households, jobs", 1 / 16),
        ("countries", 1 / 16),
        ("countries, relatives", 1 / 4),
        ("countries, relatives, households", 1 / 4),
        ("countries, relatives, jobs", 1 / 4),
        ("countries, households", 1 / 16),
        ("countries, households, jobs", 1 / 8),  # a mother or a sister is one of eight women
        ("countries, relatives, households, jobs", 1.0),
    ],
)
def test_readers_of_relatives_score_what_is_counted_by_hand(read, right):
    assert score("F5", 4, read) == pytest.approx(right)


def test_the_most_that_who_leaves_a_link_unread_scores_is_what_claims_hold_against():
    unread = scores().query("n_read < n_blocks")
    for name in ("F1", "F5"):
        rows = unread[unread["formulation"] == name]
        assert rows["accuracy"].max() == pytest.approx(readings.ONE_UNREAD)
    columns = list(product(range(4), repeat=4))  # what four tables give for one number
    most = np.mean([max(column.count(digit) for digit in range(4)) / 4 for column in columns])
    assert most == readings.ALIASES_UNREAD
    assert score("F4", 2, "tables, variables") == pytest.approx(most, abs=0.07)
    assert score("F4", 2, "tables, aliases") == score("F4", 2, "aliases, variables") == 0.25


def test_readers_do_as_well_on_real_prompts_as_is_counted():
    """Two readers by hand: one takes everybody's mother, one any woman or man for the right kind of relative."""
    right = {"mother": [], "any": []}
    for number in range(1_200):
        world = draw_world("F5", None, 3, number)
        answer = FORMULATIONS["F5"].walk(world.look, world)[-1]
        kind = world.look("households", world.look("jobs", *world.asked))
        anyone = "Cathy" if kind in ("mother", "sister") else "Adam"
        right["mother"].append(world.look("countries", world.look("relatives", *world.asked, "mother")) == answer)
        right["any"].append(world.look("countries", anyone) == answer)
    assert np.mean(right["mother"]) == pytest.approx(score("F5", 4, "countries, relatives"), abs=0.04)
    assert np.mean(right["any"]) == pytest.approx(score("F5", 4, "countries, households, jobs"), abs=0.03)


def test_everything_that_a_line_can_say_is_known():
    said = measures.said_by_lines("F5", 4)
    assert said["relatives"]["John", "sister"] == tuple(sorted(WOMEN))
    assert said["relatives"]["Eve", "father"] == tuple(sorted(MEN))
    assert set(said["countries"].values()) == {COUNTRIES}
    assert {len(values) for block in ("households", "jobs") for values in said[block].values()} == {4}
    assert set(measures.said_by_lines("F4", 2)["tables"].values()) == {DIGITS}


@pytest.mark.parametrize("name", ["F1", "F4", "F5"])
def test_what_is_asked_is_answered_by_following_the_lines(name):
    depths = CORPORA[name].depths if name in CORPORA else ()
    asked = measures.asked_of(name, depths, 12)
    at, row = asked.batch.roles["questions"], torch.arange(12)[:, None]
    words = [[asked.task.vocab[token] for token in tokens] for tokens in asked.batch.targets[row, at].tolist()]
    for number, answers in enumerate(words):
        world = draw_world(name, asked.task.depths[number % len(asked.task.depths)], measures.SERIES, number)
        questions = Random(f"asked {name} {number}").sample(asked.task.kind.asks(world), 4)
        wanted = [asked.task.kind.walk(world.look, replace(world, asked=words))[-1] for words in questions]
        assert answers == wanted


def test_lines_of_a_level_end_where_it_is_said():
    asked = measures.asked_of("F1", (1, 2, 3), 6)
    for row, depth in enumerate([1, 2, 3, 1, 2, 3]):
        ends = [at for level in range(1, depth + 1) for at in measures.line_ends(level)]
        wanted = asked.batch.loss_mask[row].nonzero().flatten().tolist()
        assert wanted == [*ends, *asked.batch.roles["questions"][row].tolist()]


class Says:
    """A network of one checkpoint that says what it is told to, at the questions and elsewhere."""

    def __init__(self, said):
        self.said = said

    def run(self, batch):
        return SimpleNamespace(logits=torch.nn.functional.one_hot(self.said(batch), 70).float()[None])


def measured(monkeypatch, spoken, said, counts):
    recipe = design.recipes(SMOKE)[str(spoken)][0]
    run = SimpleNamespace(recipe=recipe, run_id="x", tokens_seen=lambda step: step)
    monkeypatch.setattr(measures, "stacks", lambda run: [((0,), Says(said))])
    table = word_scores(run, counts, lambda done: None).astype({"variable": str, "split": str, "metric": str})
    return table.set_index(["metric", "variable", "split"])["value"].sort_index()


def test_who_says_what_is_wanted_is_right_everywhere(monkeypatch):
    counts = WordCounts(n_rows=9, others=("F4",))
    found = measured(monkeypatch, EQUATIONS[0], lambda batch: batch.targets, counts)
    chance = found["fits_chance"]
    assert set(found.drop("fits_chance", level="metric")) == {1.0} and chance.between(0.3, 0.99).all()
    assert set(found["answered"].index) == {(measures.look_ups(n), "test") for n in (1, 2, 3)} | {("2 look-ups", "F4")}
    assert set(found["line"].index) == {(measures.look_ups(n), "test") for n in (0, 1, 2)}


def test_who_says_one_digit_guesses_and_who_says_another_word_is_not_acceptable(monkeypatch):
    counts = WordCounts(n_rows=30)
    vocab = word_task(SMOKE, "F1").vocab
    for word, acceptable, right in (("2", 1.0, 0.25), ("c", 0.0, 0.0)):
        found = measured(
            monkeypatch, EQUATIONS[0], lambda batch, word=word: torch.full_like(batch.tokens, vocab.index(word)), counts
        )
        assert found["acceptable"].item() == acceptable
        assert found["answered"].tolist() == [right] * 3  # each of four questions has a digit of its own
        assert found["line"].tolist() == [right] * 3


def test_answers_fit_what_their_reader_has_read(monkeypatch):
    """It takes everybody's mother, leaving jobs and households unread; without relatives that fits where a woman is."""
    asked, task = measures.asked_of("F5", (4,), 40), word_task(SMOKE, "F5")
    said, women = asked.batch.targets.clone(), []
    for number in range(40):
        world = draw_world("F5", None, measures.SERIES, number)
        questions = Random(f"asked F5 {number}").sample(task.kind.asks(world), 4)
        for at, (person,) in zip(asked.batch.roles["questions"][number].tolist(), questions, strict=True):
            country = world.look("countries", world.look("relatives", person, "mother"))
            said[number, at] = task.vocab.index(country)
            women.append(world.look("households", world.look("jobs", person)) in ("mother", "sister"))
    found = measured(monkeypatch, RELATIVES[0], lambda batch: said, WordCounts(n_rows=40))
    assert found["answered"].item() == pytest.approx(0.25)  # one of four persons lives with the mother
    fits = found["fits"].droplevel("split")
    assert fits.to_dict() == {"households": 1.0, "jobs": 1.0, "relatives": pytest.approx(np.mean(women))}
    chance = found["fits_chance"].droplevel("split").to_dict()
    assert chance == {"households": pytest.approx(0.25), "jobs": pytest.approx(0.25), "relatives": pytest.approx(0.5)}


@pytest.mark.parametrize("spoken", [EQUATIONS[1], RELATIVES[0]], ids=str)
def test_a_smoke_run_is_measured(tmp_path, spoken):
    recipe = design.recipes(SMOKE)[str(spoken)][0]
    run = RunStore(tmp_path, None).get_or_train(recipe)
    (scores,) = design.instruments(SMOKE, str(spoken))
    table = scores.measure(run)
    asked = measures.asked_of(spoken.formulation, recipe.make_task().depths, SMOKE.n_rows)
    net = Network(recipe.model, run.stack(run.steps[-1:]))
    said, right = net.run(asked.batch).logits[0].argmax(-1), {}
    for row in range(len(asked.batch)):
        depth = asked.task.depths[asked.batch.variables["depth"][row]]
        for at in asked.batch.roles["questions"][row].tolist():
            right.setdefault(depth, []).append(bool(said[row, at] == asked.batch.targets[row, at]))
    rows = table[(table["metric"] == "answered") & (table["split"] == "test") & (table["step"] == run.steps[-1])]
    assert dict(zip(rows["variable"].astype(str), rows["value"], strict=True)) == {
        measures.look_ups(depth): pytest.approx(np.mean(of_depth)) for depth, of_depth in right.items()
    }


def test_every_arm_is_what_its_name_says_and_every_seed_has_rows_of_its_own():
    arms = design.recipes(PUBLISHED)
    for spoken in SPOKEN:
        recipes = arms[str(spoken)]
        tasks = [recipe.make_task() for recipe in recipes]
        assert [recipe.init_seed for recipe in recipes] == list(PUBLISHED.word_seeds) == [task.seed for task in tasks]
        assert {recipe.model.n_layers for recipe in recipes} == {spoken.n_layers}
        assert {task.formulation for task in tasks} == {spoken.formulation}
    steps = {spoken.formulation: arms[str(spoken)][0].n_steps for spoken in SPOKEN}
    assert steps == {"F1": PUBLISHED.word_steps, "F5": PUBLISHED.word_steps // 3}
    one, two = (replace(word_task(SMOKE, "F1", seed), n_train=40).split("train").tokens for seed in (1, 2))
    assert not torch.equal(one, two)


@pytest.mark.parametrize("look_ups", [1, 2])
def test_as_many_prompts_repeat_a_training_row_as_is_expected(look_ups):
    """Of the prompts that networks are asked, held against the published rows of one seed."""
    train = word_task(PUBLISHED, "F1", 1).split("train")
    asked = measures.asked_of("F1", CORPORA["F1"].depths, PUBLISHED.n_rows).batch

    def lines(batch, *, in_order):
        rows = batch.tokens[batch.variables["depth"] == look_ups - 1][:, : 8 * look_ups].reshape(-1, 4 * look_ups, 2)
        return [tuple(row) if in_order else frozenset(row) for row in (list(map(tuple, r)) for r in rows.tolist())]

    for in_order in (True, False):
        seen = set(lines(train, in_order=in_order))
        found = [row in seen for row in lines(asked, in_order=in_order)]
        assert np.mean(found) == pytest.approx(share_repeated(look_ups, in_order=in_order), abs=0.05)


def test_networks_see_their_rows_as_often_as_their_recipes_have_epochs():
    recipes = design.recipes(PUBLISHED)
    for spoken in (EQUATIONS[0], RELATIVES[0]):
        (stage,) = recipes[str(spoken)][0].stages
        assert stage.epochs == n_passes(PUBLISHED, spoken.formulation)
    assert (n_passes(PUBLISHED, "F1"), n_passes(PUBLISHED, "F5")) == (120, 20)


def test_functions_are_in_the_words_of_equations_and_fit_into_their_networks():
    recipe = design.recipes(SMOKE)[str(EQUATIONS[0])][0]
    asked = measures.asked_of("F4", (), 4)
    assert asked.task.vocab == recipe.make_task().vocab
    assert asked.batch.tokens.shape[1] == recipe.model.n_ctx > recipe.make_task().max_length


@pytest.mark.parametrize("name", ["F2", "F3"])
def test_prompts_with_words_of_their_own_are_equations_letter_for_word(name):
    """So there is nothing to ask of them that equations of five look-ups do not ask; and no word is shared."""
    theirs, ours = ChainWords(formulation=name, depths=()), ChainWords(depths=(5,), n_test=1)
    assert set(theirs.vocab) & set(ours.vocab) == {"?"}
    # Whatever a level's lines are about, in alphabetical order -> the letters (or digits) of that level.
    letters = [DIGITS, *("abcdefghijklmnopqrst"[4 * level : 4 * level + 4] for level in range(5))]
    for number in range(20):
        world = draw_world(name, None, 1, number)
        levels = [sorted(world.found_in(next(iter(world.blocks))))]
        levels += [sorted(key for key, _ in entries) for entries in world.blocks.values()]
        named = dict(zip(chain(*levels), chain(*letters), strict=True))
        blocks = {
            f"step {step}": tuple((named[key], named[value]) for key, value in entries)
            for step, entries in enumerate(world.blocks.values(), 1)
        }
        renamed = World(blocks, tuple(named[word] for word in world.asked))
        answer = FORMULATIONS[name].walk(world.look, world)[-1]
        assert FORMULATIONS["F1"].walk(renamed.look, renamed)[-1] == named[answer]
        assert list(renamed.blocks) == list(draw_world("F1", 5).blocks)
        assert ours.rows_of([renamed], [list(ours.kind.asks(renamed))]).tokens.shape[1] == ours.max_length


def results(rows):
    """Results with given curves, ``(arm, seed, metric, variable, split) -> values``, a checkpoint every 512 steps."""
    table = pd.DataFrame(
        [
            {"arm": str(arm), "init_seed": seed, "metric": metric, "variable": variable, "split": split,
             "step": 512 * at, "value": value}
            for (arm, seed, metric, variable, split), values in rows.items()
            for at, value in enumerate(values)
        ]
    ).assign(tokens_seen=0, edit="", site="", family="", n=1, layer=0, head=0)  # fmt: skip
    table = table.assign(run_id=table["arm"] + table["init_seed"].astype(str))
    return Results(table, pd.DataFrame(), "paper", {KNOWN: scores()}, (KNOWN,))


def answers(arm, seed, **of_look_ups):
    return {
        (arm, seed, "answered", measures.look_ups(int(name[1:])), "test"): values
        for name, values in of_look_ups.items()
    }


def test_what_is_answered_is_read_at_the_end():
    found = results(answers(EQUATIONS[2], 1, D1=[0.2, 1.0], D2=[0.3, 0.7]))
    assert readings.answered(EQUATIONS[2], 2)(found).to_dict() == {1: 0.7}


def test_order_counts_networks_that_answer_two_look_ups():
    early, late, last, never = [0.2, 1.0, 1.0, 1.0], [0.2, 0.3, 1.0, 1.0], [0.2, 0.3, 0.3, 1.0], [0.2, 0.3, 0.3, 0.3]
    rows = {}
    for arm in EQUATIONS:
        rows |= answers(arm, 1, D1=early, D2=never, D3=never)
    assert readings.in_order(results(rows)).empty
    rows |= answers(EQUATIONS[2], 1, D1=early, D2=late, D3=last) | answers(EQUATIONS[3], 1, D1=early, D2=late, D3=never)
    assert readings.in_order(results(rows)).to_dict() == {1: 1.0}
    rows |= answers(EQUATIONS[4], 1, D1=late, D2=early, D3=last) | answers(EQUATIONS[5], 1, D1=early, D2=last, D3=late)
    assert readings.in_order(results(rows)).to_dict() == {1: 0.5}
    times = readings.answered_times(results(rows), EQUATIONS[2]).set_index("variable")["time"]
    assert times["1 look-up"] == pytest.approx(512 * (0.625 - 0.2) / 0.8)


def test_figures_draw_what_was_measured():
    rows = {}
    for arm in EQUATIONS:
        rows |= answers(arm, 1, D1=[0.2, 0.9], D2=[0.2, arm.n_layers / 10], D3=[0.2, 0.25])
        rows[arm, 1, "line", "1 look-up", "test"] = [0.2, 0.8]
        rows[arm, 1, "answered", "2 look-ups", "F4"] = [0.2, 0.3]
    for arm in RELATIVES:
        rows |= answers(arm, 1, D4=[0.0, 0.1])
        for block, fits, chance in (("households", 0.4, 0.25), ("jobs", 0.4, 0.25), ("relatives", 0.5, 0.5)):
            rows[arm, 1, "fits", block, "test"] = [0.0, fits]
            rows[arm, 1, "fits_chance", block, "test"] = [chance, chance]
    found = results(rows)
    table = figures.words(found).table
    two = table[table["series"] == "two look-ups"]
    assert dict(zip(two["group"], two["value"], strict=True)) == {arm.depth: arm.n_layers / 10 for arm in EQUATIONS}
    assert table["series"].unique().tolist() == list(figures.LOOK_UPS.values())
    assert set(figures.word_lines(found).table["value"]) == {0.8}
    assert set(figures.functions(found).table["value"]) == {0.3}
    view = figures.relatives(found)
    shown = view.table
    assert view.note.endswith("Without jobs and without households the same answers fit")
    assert shown.groupby("series", sort=False)["value"].first().to_dict() == {
        "right (6 %)": 0.1, "fits but for jobs (25 %)": 0.4, "fits but for relatives (50 %)": 0.5
    }  # fmt: skip
    best = figures.readers(found).table
    assert len(best) == 2 + 3 + 4 + 4 + 5
    assert best.loc[best["such as"] == "all", "right"].tolist() == [1.0] * 5


def test_numbers_of_the_prose_are_counted_by_hand():
    rows = {}
    for arm in EQUATIONS:
        for seed in (1, 2):
            two, three = arm.n_layers + seed > 3, arm.n_layers == 6 and seed == 2
            end = {count: 1.0 if wins else 0.25 for count, wins in ((1, True), (2, two), (3, three))}
            rows |= answers(
                arm, seed, D1=[0.2, 1.0, 1.0, 1.0], D2=[0.2, 0.3, end[2], end[2]], D3=[0.2, 0.2, 0.2, end[3]]
            )
    losses = [
        {"run_id": f"{arm}{seed}", "arm": str(arm), "init_seed": seed, "step": step, "epoch": epoch, "loss": loss}
        for arm in RELATIVES
        for seed in (1, 2)
        for step, epoch, loss in ((1, 1, 9.0), (2, 2, 2.5 + seed), (3, 2, 2.6 + seed))
    ]
    found = replace(results(rows), history=pd.DataFrame(losses))
    views = {**figures.WORD_VIEWS, **words_prose.WORD_PROSE_VIEWS}
    said = words_prose.numbers(PUBLISHED, {name: views[name](found) for name in words_prose.NEEDED})
    assert [said[f"n_{n}_answer_2"] for n in (1, 2, 3)] == ["0 of 2", "1 of 2", "2 of 2"]
    assert (said["n_5_answer_3"], said["n_6_answer_3"]) == ("0 of 2", "1 of 2")
    assert (said["n_answer_two"], said["n_seeds_answer_two"]) == ("9", "2")
    assert (said["loss_on_relatives"], said["loss_of_a_guess"]) == ("3.55 to 4.55", f"{np.log(16):.2f}")
    assert (said["length_trained"], said["length_functions"]) == ("32", "76")
    assert (said["n_steps_relatives"], said["n_passes_equations"]) == (f"{PUBLISHED.word_steps // 3:,}", "120")
