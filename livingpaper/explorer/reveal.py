"""A form in which a prompt is asked: pairs of a hidden permutation, revealed one by one.

What the networks say, and what stands below, is shown only once the reader has guessed. Another form is another such
value with a module of its own in ``static``.
"""

from dataclasses import dataclass
from typing import Any

from circuitcore.tasks.forms import PromptForm
from circuitcore.tasks.token_task import TokenTask


class FormError(ValueError):
    """A form that does not fit its task, or its own opening; the message says what does not."""


@dataclass(frozen=True, kw_only=True)
class Reveal:
    """Each step asks for the partner of a word: the reader chooses which, guesses, and sees what was to be known.

    Prompts of the task are ``x y x y ... x`` over the words "1" to "V": all pairs shown so far, and the word asked.

    Attributes:
        permutation: ``permutation[i]`` is the partner of i + 1 in the row that the form opens on.
        order: what is asked there, in turn; the last is open. At the last step it may be one asked before.
        repeats: share of rows drawn here whose last word is one asked before.
        rounds: guesses that a score is kept over.
    """

    permutation: tuple[int, ...]
    order: tuple[int, ...]
    repeats: float
    rounds: int = 5

    def __post_init__(self):
        values = list(range(1, len(self.permutation) + 1))
        if len(values) < 2 or sorted(self.permutation) != values:
            raise FormError(f"permutation must hold each of 1..V once, V at least 2; got {self.permutation}")
        if not 1 <= len(self.order) <= len(values) or not set(self.order) <= set(values):
            raise FormError(f"order must hold 1 to {len(values)} of the x's {values}; got {self.order}")
        distinct = self.order[:-1] if len(self.order) == len(values) else self.order
        if len(set(distinct)) < len(distinct):
            raise FormError(f"only the last of all {len(values)} x's may repeat an earlier one; got {self.order}")
        if not 0 <= self.repeats <= 1:
            raise FormError(f"repeats is a share of rows, in [0, 1]; got {self.repeats}")
        if self.rounds < 1:
            raise FormError(f"rounds must be at least 1; got {self.rounds}")

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Those shown in the opening, in order."""
        return tuple((x, self.permutation[x - 1]) for x in self.order[:-1])

    @property
    def prompt(self) -> str:
        """The opening as the network reads it."""
        return " ".join(map(str, (*(word for pair in self.pairs for word in pair), self.order[-1])))

    @property
    def posterior(self) -> tuple[float, ...]:
        """Probabilities of 1..V in the opening, uniform over the permutations that fit the pairs shown."""
        known = dict(self.pairs)
        values = range(1, len(self.permutation) + 1)
        fitting = {known[self.order[-1]]} if self.order[-1] in known else set(values) - set(known.values())
        return tuple(1 / len(fitting) if y in fitting else 0.0 for y in values)

    def names(self, task: TokenTask) -> tuple[str, str]:
        """What the task calls a word asked and its partner."""
        key, value = task.forms[1].slots[:2]
        return key.kind, value.kind

    def rules(self, task: TokenTask) -> str:
        """What the reader is asked to do."""
        key, value = self.names(task)
        return (
            f"A permutation is hidden: every {key} from 1 to {len(self.permutation)} goes with a {value} of its own. "
            f"Pick an {key} and guess its {value}. Then see what the network said, and what the pairs shown leave "
            f"possible: the exact posterior, whose guess is its most likely {value}, the smallest where several tie. "
            f"You win if you are right more often in {_spelt(self.rounds)} rounds than the network."
        )

    def check(self, task: TokenTask, prompt: str) -> None:
        """Whether a task asks like this, and an explorer of it opens like this; FormError if not."""
        size, words = len(self.permutation), tuple(map(str, range(1, len(self.permutation) + 1)))
        if [_paired(step, number, words) for number, step in enumerate(task.forms, start=1)] != [True] * size:
            raise FormError(f"{task.name} does not ask for the pairs of a permutation of 1..{size}, step by step")
        if prompt.split() != self.prompt.split():
            raise FormError(f"the opening asks {prompt!r}, the form {self.prompt!r}")

    def payload(self, task: TokenTask) -> dict[str, Any]:
        """What the page gets, as JSON literals."""
        key, value = self.names(task)
        return {
            "permutation": list(self.permutation),
            "order": list(self.order),
            "repeats": self.repeats,
            "rounds": self.rounds,
            "names": [key, value],
            "rules": self.rules(task),
        }


def _paired(form: PromptForm, step: int, words: tuple[str, ...]) -> bool:
    """Whether a form asks for one partner after step - 1 pairs, and only its last word may be one asked before."""
    n_pos = 2 * step - 1
    pairs = tuple((at, at + 1) for at in range(0, n_pos - 2, 2))
    asked, partners = tuple(range(0, n_pos - 2, 2)), tuple(range(1, n_pos, 2))
    groups = [set(group) for group in form.distinct]
    return (
        all(slot.words == words for slot in form.slots)
        and form.lookup == (n_pos - 1, pairs)
        and all(len(group) < 2 or any(set(group) <= other for other in groups) for group in (asked, partners))
    )


def _spelt(number: int) -> str:
    return ("one", "two", "three", "four", "five", "six")[number - 1] if number < 7 else str(number)
