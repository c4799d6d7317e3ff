"""A question, what a model replied, and which replies count as an answer."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from circuitcore.ground.errors import UserError

Model = Callable[[str, int], str]
"""Gives a reply to a text; the number is the seed with which to draw it."""

_AROUND = " \t\r\n\"'`*_“”‘’"


class Unanswered(UserError):
    """This question got no reply, though another one may: a server that is busy, slow or away."""


class Refused(UserError):
    """No question will get a reply until somebody mends something: a wrong address, key or name."""


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        name: by which it is known in a record; the same question always has the same one.
        text: of the prompt.
        answer: the right one.
        acceptable: every answer of the right kind.
    """

    name: str
    text: str
    answer: str
    acceptable: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """What came of a question.

    Attributes:
        question: its name.
        replies: all of them, in order; only the last one can be acceptable.
        answer: the acceptable one; None where none was.
        right: whether that is the right one.
    """

    question: str
    replies: tuple[str, ...]
    answer: str | None
    right: bool


def accepted(reply: str, acceptable: tuple[str, ...]) -> str | None:
    """Which acceptable answer a reply is, if any.

    The reply must be the answer and nothing else, but for capitals, a full stop, and quotes, asterisks or blanks
    around it. The source does not say how it compared.
    """
    plain = reply.strip(_AROUND).removesuffix(".").strip(_AROUND).casefold()
    return next((answer for answer in acceptable if answer.casefold() == plain), None)


def ask(question: Question, model: Model, tries: int) -> Asked:
    """Ask until a reply is acceptable, as the source does, at most ``tries`` times.

    Raises:
        Unanswered: a try got no reply at all.
        Refused: none will.
    """
    replies = []
    for attempt in range(tries):
        replies.append(model(question.text, seed_of(question.name, attempt)))
        answer = accepted(replies[-1], question.acceptable)
        if answer is not None:
            return Asked(question.name, tuple(replies), answer, answer == question.answer)
    return Asked(question.name, tuple(replies), None, right=False)


def seed_of(name: str, attempt: int) -> int:
    """The seed of a try, below 2^31: another one for each, and the same in every run."""
    return int.from_bytes(hashlib.sha256(f"{name} {attempt}".encode()).digest()[:4], "big") >> 1
