"""Numbers drawn many at once, against Python's own generator, one by one."""

import random

import pytest

from circuitcore.tasks import python_random
from circuitcore.tasks.python_random import PythonRandom

LIMITS = [16, 15, 2, 1, 1000, 2**31 + 1, 2**32 - 1, 3]


def one_by_one(generator, limits, n_rounds):
    return [[generator.randrange(limit) for limit in limits] for _ in range(n_rounds)]


@pytest.mark.parametrize("spare", [python_random.SPARE, 0.01], ids=["enough words", "too few words at first"])
@pytest.mark.parametrize("seed", [0, 17, 2**40, -5])
def test_rounds_are_pythons(seed, spare, monkeypatch):
    monkeypatch.setattr(python_random, "SPARE", spare)
    many = PythonRandom(seed)
    found = many.rounds(LIMITS, 700)
    assert found.drawn.tolist() == one_by_one(random.Random(seed), LIMITS, 700)
    assert (found.ends[1:] - found.ends[:-1] >= len(LIMITS)).all()
    assert many.at == 0 and many.rounds(LIMITS, 700).drawn.tolist() == found.drawn.tolist(), "nothing is used up"


def test_who_has_used_some_rounds_goes_on_behind_them():
    many, own = PythonRandom(3), random.Random(3)
    first = many.rounds([16, 15], 100)
    many.at = int(first.ends[9])
    assert first.drawn[:10].tolist() == one_by_one(own, [16, 15], 10)
    assert many.rounds([7], 50).drawn.tolist() == one_by_one(own, [7], 50)


@pytest.mark.parametrize("limit", [0, 2**32])
def test_a_limit_that_is_no_words_is_refused(limit):
    with pytest.raises(ValueError, match="1 to 4,294,967,295"):
        PythonRandom(0).rounds([3, limit], 1)
