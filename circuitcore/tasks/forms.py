"""What a task's prompts look like: which words may stand where, and what the prompt itself tells about the answer.

``explorer/static/prompt.js`` does the same in the page, with the same sentences; ``as_json`` is what it reads.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from circuitcore.tasks.errors import TaskError

MOST_LISTED = 8


class PromptError(TaskError):
    """A prompt that fits no form of its task; the text is one sentence that can stand beside a field."""


@dataclass(frozen=True)
class Slot:
    """One position of a form.

    Attributes:
        name: what stands there, numbered where there are several: "key 1", "value 1", "separator", "query".
        words: what may stand there, in the order of the vocabulary.
    """

    name: str
    words: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The name without its number."""
        return re.sub(r" [0-9]+$", "", self.name)


@dataclass(frozen=True)
class PromptForm:
    """One kind of prompt: fixed positions, and after them free words where there are any. Positions count from 0.

    Attributes:
        name: what a reader chooses ("3 pairs").
        slots: the fixed positions.
        distinct: groups of positions whose words differ from each other.
        member: (position, positions): its word is one of theirs.
        lookup: (position, (key position, value position) of every pair): the answer is the value beside the first key
            that equals the word at the position.
        leftover: where ``lookup`` finds nothing, and these positions hold all but one of the words that may stand at
            the first of them, the answer is that one.
        open_words: what may stand after the slots.
        most: positions in all of a form with ``open_words`` or a ``unit``.
        unit: three slots, a mark, a key and a value, that come again and again after ``slots``, to wherever the prompt
            ends; a form with one is that of all these lengths (``of``).
        reads: the mark of a unit that reads: its key has a value, and the unit says the last one. Where the prompt ends
            at the key of such a unit, that value is asked for.
        said: (key position, value position) of every whole unit, of a prompt of a form with a ``unit``.
    """

    name: str
    slots: tuple[Slot, ...]
    distinct: tuple[tuple[int, ...], ...] = ()
    member: tuple[int, tuple[int, ...]] | None = None
    lookup: tuple[int, tuple[tuple[int, int], ...]] | None = None
    leftover: tuple[int, ...] = ()
    open_words: tuple[str, ...] = ()
    most: int = 0
    unit: tuple[Slot, ...] = ()
    reads: str = ""
    said: tuple[tuple[int, int], ...] = ()

    def of(self, words: Sequence[str]) -> "PromptForm":
        """The form of a prompt of just these words' length, without a unit; itself where it has none."""
        if not self.unit:
            return self
        n_more = len(words) - len(self.slots)
        is_read = n_more % len(self.unit) == 2 and words[-2] == self.reads
        return _unrolled(self, n_more, is_read=is_read)

    @property
    def word_sets(self) -> tuple[tuple[str, ...], ...]:
        """The words of every slot, and the free ones where there are any."""
        return (*(slot.words for slot in (*self.slots, *self.unit)), *([self.open_words] if self.open_words else []))

    @property
    def longest(self) -> int:
        """Positions of the longest prompt."""
        return self.most if self.open_words or self.unit else len(self.slots)

    def has_length(self, n_tokens: int) -> bool:
        """Whether prompts of this form may have so many tokens."""
        return len(self.slots) <= n_tokens <= self.longest

    def fault(self, words: Sequence[str]) -> str | None:
        """What keeps words of a possible length from being a prompt of this form, as a sentence; None if nothing."""
        return next(self.of(words)._faults(words), None)

    def answer(self, words: Sequence[str]) -> str | None:
        """The answer as far as a prompt of this form tells it; None if it does not."""
        if self.unit or self.lookup is None:
            return self.of(words).answer(words) if self.unit else None
        if found := self.asked(words):
            return words[found[0][1]]
        taken = {words[at] for at in self.leftover}
        left = [word for word in self.slots[self.leftover[0]].words if word not in taken] if self.leftover else []
        return left[0] if len(left) == 1 else None

    def asked(self, words: Sequence[str]) -> tuple[tuple[int, int], ...]:
        """Where the answer stands beside the key that is asked for: (key position, value position).

        Of units that come again, every one that says the value that holds. None where nothing is asked for, or what is
        asked for is not there.
        """
        query, pairs = self.lookup or (None, ())
        found = [pair for pair in pairs if words[pair[0]] == words[query]]
        if not self.said:
            return tuple(found[:1])
        return tuple(pair for pair in found if words[pair[1]] == words[found[-1][1]])

    def _faults(self, words: Sequence[str]) -> Iterator[str]:
        for at, word in enumerate(words):
            is_fixed = at < len(self.slots)
            allowed = self.slots[at].words if is_fixed else self.open_words
            if word not in allowed:
                kind = self.slots[at].kind if is_fixed else "word"
                article = "an" if kind[0] in "aeioux" else "a"  # an x
                listed = ", ".join(allowed[:MOST_LISTED]) + (", ..." if len(allowed) > MOST_LISTED else "")
                yield f"token {at} ('{word}') must be {article} {kind}: {listed}"
        for group in self.distinct:
            seen = {}
            for at in group:
                first = seen.setdefault(words[at], at)
                if first != at:
                    kind = self.slots[group[0]].kind
                    yield f"tokens {first} and {at} are both '{words[at]}'; the {kind}s of a prompt differ"
        yield from self._stale(words)
        if self.member:
            at, among = self.member
            if words[at] not in [words[other] for other in among]:
                listed = ", ".join(f"'{word}'" for word in dict.fromkeys(words[other] for other in among))
                yield f"token {at} ('{words[at]}') must be one of {listed}"

    def _stale(self, words: Sequence[str]) -> Iterator[str]:
        """Reads of what has no value, or that say another one than the last."""
        holds = {}
        for key, value in self.said:
            word = words[key]
            if words[key - 1] != self.reads:
                holds[word] = words[value]
            elif word not in holds:
                yield f"token {key} ('{word}') is read before anything is written to it"
            elif words[value] != holds[word]:
                yield f"token {value} ('{words[value]}') must be '{holds[word]}', the last value of {word}"


@functools.lru_cache(maxsize=256)
def _unrolled(form: PromptForm, n_more: int, *, is_read: bool) -> PromptForm:
    """The form of ``n_more`` tokens after the slots of one with a unit; ``is_read``: the last one is asked for."""
    first, size = len(form.slots), len(form.unit)
    names = [
        replace(form.unit[at % size], name=f"{form.unit[at % size].name} {at // size + 1}") for at in range(n_more)
    ]
    said = tuple((first + size * number + 1, first + size * number + 2) for number in range(n_more // size))
    found = replace(form, slots=(*form.slots, *names), unit=(), most=0, said=said)
    if not is_read or not said:
        return found
    query = first + n_more - 1
    slots = (*found.slots[:-1], replace(form.unit[1], name="query"))
    return replace(found, slots=slots, lookup=(query, said), member=(query, tuple(key for key, _ in said)))


def matching(forms: Sequence[PromptForm], words: Sequence[str]) -> PromptForm:
    """The form that a prompt has; the first where several fit.

    Raises:
        PromptError: the first thing that is wrong: no token, an unknown word, the length, or what the first form of
            this length finds, in the order slots, distinct, member. Tokens count from 0.
    """
    if not words:
        raise PromptError("the prompt has no tokens; separate tokens by spaces")
    known = dict.fromkeys(word for form in forms for allowed in form.word_sets for word in allowed)
    for at, word in enumerate(words):
        if word not in known:
            near = next((other for other in known if other.lower() == word.lower()), None)
            guess = f" (did you mean '{near}'?)" if near else ""
            raise PromptError(f"token {at}: '{word}' is no word of this task{guess}")
    fitting = [form for form in forms if form.has_length(len(words))]
    if not fitting:
        tokens = "1 token" if len(words) == 1 else f"{len(words)} tokens"
        raise PromptError(f"{tokens}; prompts of this task have {_lengths(forms)}")
    for form in fitting:
        if form.fault(words) is None:
            return form.of(words)
    raise PromptError(fitting[0].fault(words))


def as_json(forms: Iterable[PromptForm]) -> dict[str, Any]:
    """Forms as JSON literals: ``sets`` of words, each once, ``forms``, which name a set by its number, and ``lengths``.

    A form has the keys name, slots and unit (``[name, set]``), distinct, member, lookup, leftover, open (a set, or
    None), most (positions of the longest prompt) and reads. ``lengths`` is text: "10, 13 or 16".
    """
    forms = tuple(forms)
    number = {words: place for place, words in enumerate(dict.fromkeys(w for form in forms for w in form.word_sets))}
    made = [
        {
            "name": form.name,
            "slots": [[slot.name, number[slot.words]] for slot in form.slots],
            "distinct": [list(group) for group in form.distinct],
            "member": form.member and [form.member[0], list(form.member[1])],
            "lookup": form.lookup and [form.lookup[0], [list(pair) for pair in form.lookup[1]]],
            "leftover": list(form.leftover),
            "open": number[form.open_words] if form.open_words else None,
            "most": form.longest,
            "unit": [[slot.name, number[slot.words]] for slot in form.unit],
            "reads": form.reads,
        }
        for form in forms
    ]
    return {"sets": [list(words) for words in number], "forms": made, "lengths": _lengths(forms)}


def _lengths(forms: Iterable[PromptForm]) -> str:
    """The lengths that prompts may have: "10, 13 or 16", "at most 40"."""
    free = [form for form in forms if form.open_words or form.unit]
    fixed = sorted({len(form.slots) for form in forms if form not in free})
    ranges = [(max(1, len(form.slots)), form.most) for form in free]
    spans = [f"at most {most}" if least == 1 else f"{least} to {most}" for least, most in ranges]
    parts = [str(length) for length in fixed] + list(dict.fromkeys(spans))
    return " or ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
