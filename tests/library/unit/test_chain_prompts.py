"""Chains in words: the source's own examples to the letter, a solver that reads the text, and who is right by luck."""

import hashlib
import re
from math import comb, factorial
from pathlib import Path

import pytest

from circuitcore.ground.task_names import PROMPT_NAMES
from circuitcore.tasks.chain_prompts import FORMULATIONS, World, draw_world, prompt_of, prompts
from circuitcore.tasks.chain_prompts.ignorant import ignorant_accuracy, ignorant_answers
from circuitcore.tasks.errors import TaskError

SOURCE = (Path(__file__).resolve().parents[2] / "support/chain_prompts.txt").read_text()  # Appendix A, as printed
CHAINS = {
    "F1": "s p l g a 1",
    "F2": "Rose Peter Larry Frank Alice Berlin",
    "F3": "Chronogy Zephyrium lamb harmonianism Novaria Alice",
    "F4": "f a i 0 3",
    "F5": "Eve lawyer mother Lily Brazil",
}
# Of the first five texts of series 7.
DIGESTS = {
    "F1": "79af30484f4779f5",
    "F2": "e5ae6bea6f5bd876",
    "F3": "bf56aeacf573cf1d",
    "F4": "7d0953338cae4b6c",
    "F5": "ca0f2752e088d1ae",
}
# Where the words of a line stand, and in which order they are looked up.
PATTERNS = {
    "F1": [(r"(\w) = (\w)$", "{0} {1}")],
    "F2": [(r"(\w+) lives (?:in|with) (\w+)$", "{0} {1}")],
    "F3": [
        (r"(\w+) lives in (\w+)\.", "{1} {0}"),
        (r"(\w+)ns believe in (\w+)\.", "{1} {0}"),
        (r"(\w+)ists eat (\w+)\.", "{1} {0}ism"),
        (r"(\w+) contains (\w+)\.", "{1} {0}"),
        (r"(\w+) causes (\w+)\.", "{1} {0}"),
    ],
    "F4": [(r"(\w)\((\d)\) = (\d)", "{0} {1} {2}"), (r"([e-h]) = (\w)", "{0} {1}"), (r"([i-l]) = (\d)", "{0} {1}")],
    "F5": [
        (r"(\w+) lives in (\w+)\.", "{0} {1}"),
        (r"(John|Chris|Diana|Eve)s (\w+) is (\w+)\.", "{0} {1} {2}"),
        (r"(\w+)s live with their (\w+)s\.", "{0} {1}"),
        (r"(\w+) works as an? (\w+)\.", "{0} {1}"),
    ],
}
QUESTIONS = {
    "F1": r"of (\w)\?",
    "F2": r"does (\w+) live",
    "F3": r"has (\w+)\?",
    "F4": r"of (\w)\((\w)\)",
    "F5": r"does (\w+) live",
}


def examples():
    """Name -> (text, right answer, acceptable ones), of the source."""
    parts = re.split(r"^A\.(\d) .*$", SOURCE, flags=re.MULTILINE)[1:]
    for number, part in zip(parts[::2], parts[1::2], strict=True):
        text, correct, acceptable = re.fullmatch(
            r"\s*(.*)\nCorrect: (.*)\nAcceptable: (.*)\s*", part, re.DOTALL
        ).groups()
        yield f"F{number}", (text, correct, tuple(acceptable.strip().split(", ")))


EXAMPLES = dict(examples())


def facts_of(name, text):
    """Lines as words to look up and what is found, block by block."""
    *lines, question = text.splitlines()
    levels = [[] for _ in PATTERNS[name]]
    for line in lines:
        where = [
            (found, level, form)
            for level, (pattern, form) in enumerate(PATTERNS[name])
            if (found := re.match(pattern, line))
        ]
        found, level, form = where[0]
        levels[level].append(tuple(form.format(*found.groups()).split()))
    return levels, re.search(QUESTIONS[name], question).groups()


def world_of(name, text):
    """The links that a text holds, in the blocks of its formulation."""
    levels, asked = facts_of(name, text)
    if name in ("F1", "F2"):
        levels = [levels[0][start : start + 4] for start in range(0, len(levels[0]), 4)]
    if name == "F3":  # at the beginning of a line words are capitalised
        levels[2] = [(food, belief.lower()) for food, belief in levels[2]]
        levels[3] = [(mineral, food.lower()) for mineral, food in levels[3]]
    if name == "F5":
        levels[2] = [(job.lower(), kind) for job, kind in levels[2]]
    blocks = draw_world(name).blocks
    return World(dict(zip(blocks, map(tuple, levels), strict=True)), asked)


def solved(name, text):
    """The answer by reading, written without looking at how the prompts are made."""
    levels, asked = facts_of(name, text)
    if name in ("F1", "F2", "F3"):
        links = {key.lower(): value for level in levels for key, value in level}
        word = asked[0].lower()
        while word in links:
            answer = links[word]
            word = answer.lower() if answer.lower() != word else ""
        return answer
    if name == "F4":
        table = {entry[:-1]: entry[-1] for level in levels for entry in level}
        return table[table[asked[:1]], table[asked[1:]]]
    lives, relatives, households, jobs = ({entry[:-1]: entry[-1] for entry in level} for level in levels)
    kind = households[(jobs[asked].capitalize(),)]
    return lives[(relatives[(asked[0], kind)],)]


def test_every_formulation_has_its_example():
    assert tuple(EXAMPLES) == tuple(FORMULATIONS) == PROMPT_NAMES == tuple(CHAINS)


@pytest.mark.parametrize("name", CHAINS)
def test_the_source_s_example_is_reproduced_to_the_letter(name):
    text, correct, acceptable = EXAMPLES[name]
    made = prompt_of(name, world_of(name, text))
    assert made.text == text
    assert (made.answer, made.acceptable) == (correct, acceptable)
    assert made.chain == tuple(CHAINS[name].split())


@pytest.mark.parametrize("name", CHAINS)
def test_whoever_reads_the_text_finds_the_answer(name):
    assert solved(name, EXAMPLES[name][0]) == EXAMPLES[name][1]
    for prompt in prompts(name, 100, seed=3):
        assert solved(name, prompt.text) == prompt.answer in prompt.acceptable
        assert prompt.chain[-1] == prompt.answer and prompt.chance == 1 / len(prompt.acceptable)


@pytest.mark.parametrize("name", CHAINS)
def test_a_drawn_prompt_has_the_shape_of_the_example(name):
    """As many lines in each block; the same lines where the source fixes them; all else differs between prompts."""
    fixed = {"F4": ["tables", "aliases", "variables"], "F5": ["relatives", "jobs"]}.get(name, [])
    given = world_of(name, EXAMPLES[name][0])
    drawn = [draw_world(name, seed=1, number=number) for number in range(40)]
    for world in drawn:
        assert {block: len(lines) for block, lines in world.blocks.items()} == {
            block: len(lines) for block, lines in given.blocks.items()
        }
        for block, lines in world.blocks.items():
            keys, found = ([entry[:-1] for entry in entries] for entries in (lines, given.blocks[block]))
            assert sorted(keys) == sorted(found)
            assert (keys == found) or block not in fixed
    for block in given.blocks:
        links = {frozenset(world.blocks[block]) for world in drawn}
        orders = {tuple(entry[:-1] for entry in world.blocks[block]) for world in drawn}
        assert len(links) > 10, f"the links of {block} are drawn, F3's among them"
        assert (len(orders) == 1) == (block in fixed)
    assert len({world.asked for world in drawn}) >= 4
    assert {prompt.answer for prompt in prompts(name, 300)} == set(FORMULATIONS[name].acceptable)


@pytest.mark.parametrize("name", CHAINS)
def test_a_prompt_depends_on_its_series_and_number_alone(name):
    """So that a series can be lengthened, and is the same on every machine."""
    short, long = list(prompts(name, 3, seed=7)), list(prompts(name, 5, seed=7))
    assert long[:3] == short and len(set(long)) == 5
    assert set(long).isdisjoint(prompts(name, 5, seed=8))
    assert hashlib.sha256("\n\n".join(prompt.text for prompt in long).encode()).hexdigest()[:16] == DIGESTS[name]


@pytest.mark.parametrize("depth", range(1, 14))
def test_equations_of_any_depth_can_be_solved(depth):
    for prompt in prompts("F1", 20, depth):
        assert prompt.text.count("\n") == 4 * depth == 4 * (len(prompt.chain) - 1)
        links = dict(line.split(" = ") for line in prompt.text.splitlines()[:-1])
        word, chain = prompt.text.partition("value of ")[2][0], []
        while word in links:
            word = links[word]
            chain.append(word)
        assert (len(links), chain) == (4 * depth, list(prompt.chain[1:]))


def test_who_reads_everything_is_always_right_and_who_reads_nothing_guesses():
    for name in CHAINS:
        assert ignorant_accuracy(name, (), n=5) == 1
        depth = {"F1": 3, "F2": 3}.get(name)
        parts = (*draw_world(name, depth).blocks, "question")
        if name != "F3":  # six unread parts of four: more cases than are tried
            assert ignorant_accuracy(name, parts, n=3, depth=depth) == pytest.approx(next(prompts(name)).chance)


def test_who_knows_eve_s_relatives_but_not_with_whom_she_lives_is_right_in_a_quarter():
    """Four times the chance line of one out of sixteen countries."""
    for unread in (("jobs",), ("households",), ("jobs", "households")):
        assert ignorant_accuracy("F5", unread, n=20) == 0.25
    assert ignorant_accuracy("F5", ("relatives",), n=20) == 1 / 16


def test_who_ignores_the_aliases_of_functions_is_right_in_more_than_half():
    """Of four values of unrelated functions at one number the commonest is said: by counting, 2.125 of 4."""
    most = {2: 4 * 3 * comb(4, 2) * 2 + comb(4, 2) * comb(4, 2), 3: 4 * 3 * 4, 4: 4, 1: factorial(4)}
    assert sum(most.values()) == 4**4
    expected = sum(n * count for n, count in most.items()) / 4**4 / 4
    assert expected == 0.53125
    assert ignorant_accuracy("F4", ("aliases",), n=3000) == pytest.approx(expected, abs=0.02)
    assert ignorant_accuracy("F4", ("variables",), n=20) == 0.25, "a function's four values are all different"


@pytest.mark.parametrize("unread", [("aliases",), ("tables",), ("question",)])
def test_an_ignorant_reader_is_right_as_often_as_it_believes(unread):
    n, right = 800, 0
    for number in range(n):
        world = draw_world("F4", seed=5, number=number)
        believed = ignorant_answers(FORMULATIONS["F4"], world, unread)
        right += max(sorted(believed), key=believed.get) == prompt_of("F4", world).answer
        assert sum(believed.values()) == pytest.approx(1)
    assert right / n == pytest.approx(ignorant_accuracy("F4", unread, n, seed=5), abs=0.06)


@pytest.mark.parametrize(
    ("ask", "seen"),
    [
        (lambda: draw_world("F6"), "unknown formulation 'F6'"),
        (lambda: prompts("F1", depth=14), "depth = 14 of F1 (equations); allowed: 1 to 13"),
        (lambda: prompts("F2", depth=0), "depth = 0 of F2 (lives-with); allowed: 1 to 5"),
        (lambda: prompts("F3", depth=3), "depth = 3 of F3 (kingdoms); allowed: 5 alone"),
        (lambda: prompts("F5", depth=5), "depth = 5 of F5 (relatives); allowed: 4 alone"),
        (lambda: prompts("F1", 0), "n = 0; allowed: at least 1 prompt"),
        (lambda: draw_world("F1", seed=-1), "seed = -1; allowed"),
        (lambda: ignorant_accuracy("F4", ("alias",)), "unknown part of the prompt 'alias'; did you mean 'aliases'?"),
        (lambda: ignorant_accuracy("F1", [f"step {n}" for n in range(1, 14)], depth=13), "13 unread blocks make more"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(ask, seen):
    with pytest.raises(TaskError, match=re.escape(seen)):
        ask()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda lines: {}, "lack the unread block 'jobs'; they have: none"),
        (lambda lines: {"jobs": dict(list(lines.items())[1:])}, "lack"),
        (
            lambda lines: {"jobs": {key: said[: 1 + place] for place, (key, said) in enumerate(lines.items())}},
            "as many",
        ),
    ],
)
def test_lines_of_which_one_guess_cannot_stand_for_all_are_refused(spoil, words):
    world = draw_world("F5", None, 0)
    lines = {entry[:-1]: ("a", "b", "c", "d", "e") for entry in world.blocks["jobs"]}
    with pytest.raises(TaskError, match=words):
        ignorant_answers(FORMULATIONS["F5"], world, ("jobs",), spoil(lines))
