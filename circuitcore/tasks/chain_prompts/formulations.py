"""The five formulations: words, what is drawn, what is fixed, and how the answer is found."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from random import Random
from string import ascii_letters
from types import MappingProxyType
from typing import TypeVar

from circuitcore.tasks.chain_prompts.worlds import Entry, Formulation, Look, World

Item = TypeVar("Item")

WIDTH = 4  # chains side by side
DIGITS = ("0", "1", "2", "3")
NUMERIC = "Say directly only the numeric value, without any other words."

PERSONS = tuple(
    "Alice Bob Charlie David Eve Frank Grace Henry Isabelle Jack Kate Larry Mary Nick Olivia Peter Queen Rose Sam "
    "Tom".split()
)
CITIES = ("Amsterdam", "Berlin", "Cairo", "Delhi")

# F3: in the order of the lines; each level is linked to the one before it.
KINGDOM_LEVELS = (
    PERSONS[:WIDTH],
    ("Novaria", "Silvania", "Aurora", "Florinia"),
    ("harmonianism", "celestianism", "elysianism", "luminism"),
    ("lamb", "chicken", "pork", "beef"),
    ("Zephyrium", "Nephryon", "Virellium", "Astralyte"),
    ("Chronogy", "Synthemia", "Somnosis", "Aetherflux"),
)
KINGDOM_BLOCKS = ("lives", "believes", "eats", "contains", "causes")

WORKERS = ("John", "Chris", "Diana", "Eve")
KINDS = ("mother", "sister", "father", "brother")
JOBS = ("doctor", "engineer", "teacher", "lawyer")
WOMEN = ("Cathy", "Dana", "Isabelle", "Jane", "Lily", "Nancy", "Olivia", "Penny")
MEN = ("Adam", "Bob", "Ed", "Fred", "George", "Hank", "Kevin", "Mike")
COUNTRIES = tuple(
    "Argentina Brazil Canada Denmark England France Germany Hungary Italy Japan Kenya Laos Mexico Norway Peru "
    "Qatar".split()
)


def _shuffled(random: Random, items: Sequence[Item]) -> list[Item]:
    return random.sample(items, len(items))


def _linked(random: Random, keys: Sequence[str], values: Sequence[str]) -> list[Entry]:
    """A random one-to-one link of each key to a value, in the order of the keys."""
    return list(zip(keys, _shuffled(random, values), strict=True))


def _levels(random: Random, groups: Sequence[Sequence[str]], blocks: Sequence[str]) -> World:
    """F1 to F3: everything of a group is linked to one of the group before; lines are shuffled within a block."""
    lines = {
        block: tuple(_shuffled(random, _linked(random, later, earlier)))
        for block, (earlier, later) in zip(blocks, pairwise(groups), strict=True)
    }
    return World(lines, (random.choice(groups[-1]),))


def _steps(random: Random, ends: Sequence[str], names: Sequence[str], depth: int) -> World:
    """F1, F2: as many levels as asked for, of the next four names each."""
    groups = [ends, *(names[WIDTH * step : WIDTH * (step + 1)] for step in range(depth))]
    return _levels(random, groups, [f"step {step}" for step in range(1, depth + 1)])


def _down(look: Look, world: World) -> tuple[str, ...]:
    """From what is asked through all blocks, the last one first."""
    chain = list(world.asked)
    for block in reversed(world.blocks):
        chain.append(look(block, chain[-1]))
    return tuple(chain)


def _of_last_block(world: World) -> tuple[Entry, ...]:
    """Whatever the lines of the last block are about."""
    *_, last = world.blocks.values()
    return tuple((key,) for key, _ in last)


def _kingdom_line(block: str, later: str, earlier: str) -> str:
    adherents = earlier.removesuffix("ism").capitalize() + "ists"
    return {
        "lives": f"{earlier} lives in {later}.",
        "believes": f"{earlier}ns believe in {later}.",
        "eats": f"{adherents} eat {later}.",
        "contains": f"{earlier.capitalize()} contains {later}.",
        "causes": f"{earlier} causes {later}.",
    }[block]


def _functions(random: Random) -> World:
    """F4: four tables in full, in order; then aliases of functions and names of numbers, in alphabetical order."""
    named, aliases, variables = "abcd", "efgh", "ijkl"
    tables = {name: _shuffled(random, DIGITS) for name in named}
    blocks = {
        "tables": tuple(
            (name, digit, value) for name in named for digit, value in zip(DIGITS, tables[name], strict=True)
        ),
        "aliases": tuple(_linked(random, aliases, named)),
        "variables": tuple(_linked(random, variables, DIGITS)),
    }
    return World(blocks, (random.choice(aliases), random.choice(variables)))


def _function_value(look: Look, world: World) -> tuple[str, ...]:
    alias, variable = world.asked
    name, number = look("aliases", alias), look("variables", variable)
    return (alias, name, variable, number, look("tables", name, number))


def _function_line(block: str, *entry: str) -> str:
    return f"{entry[0]}({entry[1]}) = {entry[2]}" if block == "tables" else f"{entry[0]} = {entry[1]}"


def _relatives(random: Random) -> World:
    """F5: mothers and sisters are women, fathers and brothers men, each of one person alone."""
    women, men = _shuffled(random, WOMEN), _shuffled(random, MEN)
    blocks = {
        "countries": tuple(_shuffled(random, _linked(random, WOMEN + MEN, COUNTRIES))),
        "relatives": tuple(
            (person, kind, (women if kind in ("mother", "sister") else men).pop())
            for person, kind in product(WORKERS, KINDS)
        ),
        "households": tuple(_shuffled(random, _linked(random, JOBS, KINDS))),
        "jobs": tuple(_linked(random, WORKERS, JOBS)),
    }
    return World(blocks, (random.choice(WORKERS),))


def _country(look: Look, world: World) -> tuple[str, ...]:
    (person,) = world.asked
    job = look("jobs", person)
    kind = look("households", job)
    relative = look("relatives", person, kind)
    return (person, job, kind, relative, look("countries", relative))


def _relative_line(block: str, *entry: str) -> str:
    first, second = entry[:2]
    return {
        "countries": f"{first} lives in {second}.",
        "relatives": f"{first}s {second} is {entry[-1]}.",
        "households": f"{first.capitalize()}s live with their {second}s.",
        "jobs": f"{first} works as {'an' if second[0] in 'aeiou' else 'a'} {second}.",
    }[block]


FORMULATIONS: Mapping[str, Formulation] = MappingProxyType(
    {
        "F1": Formulation(
            title="equations",
            depth=5,
            depths=range(1, len(ascii_letters) // WIDTH + 1),
            acceptable=DIGITS,
            draw=lambda random, depth: _steps(random, DIGITS, ascii_letters, depth),
            walk=_down,
            line=lambda block, name, of: f"{name} = {of}",
            question=f"What is the value of {{0}}? {NUMERIC}",
            asks=_of_last_block,
        ),
        "F2": Formulation(
            title="lives-with",
            depth=5,
            depths=range(1, len(PERSONS) // WIDTH + 1),
            acceptable=CITIES,
            draw=lambda random, depth: _steps(random, CITIES, PERSONS, depth),
            walk=_down,
            line=lambda block, name, of: f"{name} lives {'in' if block == 'step 1' else 'with'} {of}",
            question="Where does {0} live? Say directly only the name of the city, without any other words.",
            asks=_of_last_block,
        ),
        "F3": Formulation(
            title="kingdoms",
            depth=5,
            depths=range(5, 6),
            acceptable=PERSONS[:WIDTH],
            draw=lambda random, depth: _levels(random, KINGDOM_LEVELS, KINGDOM_BLOCKS),
            walk=_down,
            line=_kingdom_line,
            question="Who has {0}? Say directly the name without other words.",
            asks=_of_last_block,
        ),
        "F4": Formulation(
            title="functions",
            depth=2,
            depths=range(2, 3),
            acceptable=DIGITS,
            draw=lambda random, depth: _functions(random),
            walk=_function_value,
            line=_function_line,
            question=f"What is the value of {{0}}({{1}})? {NUMERIC}",
            asks=lambda world: tuple(
                product(*([key for key, _ in world.blocks[of]] for of in ("aliases", "variables")))
            ),
        ),
        "F5": Formulation(
            title="relatives",
            depth=4,
            depths=range(4, 5),
            acceptable=COUNTRIES,
            draw=lambda random, depth: _relatives(random),
            walk=_country,
            line=_relative_line,
            question="Where does {0} live? Say directly only the name, without any other words.",
            asks=lambda world: tuple((person,) for person in WORKERS),
        ),
    }
)
