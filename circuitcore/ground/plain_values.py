"""Plain values from outside (a file, a notebook, a command line): how large they may be, how an error shows them."""

import math
import reprlib

MAX_VALUES = 20_000  # in one parameter or file; of a mapping, keys and values count
MAX_DEPTH = 12  # lists and mappings inside each other
MAX_DIGITS = 64
MAX_CHARACTERS = 10_000  # of one text
MAX_SHOWN = 80
DIGITS_PER_BIT = math.log10(2)


def fault(value: object) -> str:
    """What is allowed instead of ``value``; empty for a value that can be used.

    The time does not depend on the size: a list that holds itself, or one list nine times at each of ten levels, is
    small in memory and endless to walk.
    """
    level, n_values = [value], 0
    for _ in range(MAX_DEPTH + 1):
        inside = []
        for item in level:
            if not isinstance(item, dict | list | tuple):
                if allowed := _fault_of_one(item):
                    return allowed
                continue
            n_values += len(item) * (1 + isinstance(item, dict))
            if n_values > MAX_VALUES:
                return f"at most {MAX_VALUES:,} values in all"
            inside += [*item, *item.values()] if isinstance(item, dict) else item
        if not inside:
            return ""
        level = inside
    return f"at most {MAX_DEPTH} lists and mappings inside each other"


def shown(value: object) -> str:
    """A value and its type for an error, cut to ``MAX_SHOWN`` characters, whatever its size: ``[1, 2] (list)``."""
    text = _BRIEF.repr(value)
    return f"{text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + '...'} ({type(value).__name__})"


def named(key: object) -> str:
    """A key as an error names it: itself, or quoted and cut where it could not be read or printed otherwise."""
    if isinstance(key, str) and key.isprintable() and 0 < len(key) <= MAX_SHOWN:
        return key
    return shown(key)


def _fault_of_one(value: object) -> str:
    match value:
        case None | bool():
            return ""
        case int() if value.bit_length() * DIGITS_PER_BIT > MAX_DIGITS:
            return f"numbers of at most {MAX_DIGITS} digits"
        case float() if not math.isfinite(value):
            return _KINDS
        case int() | float():
            return ""
        case str() if len(value) > MAX_CHARACTERS:
            return f"texts of at most {MAX_CHARACTERS:,} characters"
        case str():
            lone = any("\ud800" <= character <= "\udfff" for character in value)
            return "text that can be written as UTF-8" if lone else ""
    return _KINDS


_KINDS = "finite numbers, text, true/false, none, and lists or mappings of them"


class _Brief(reprlib.Repr):
    """``repr`` that walks a few items alone, and counts the digits of a number too long to be written."""

    def __init__(self):
        super().__init__()
        self.maxlevel = 3
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 12
        self.maxstring = self.maxlong = self.maxother = MAX_SHOWN

    def repr_int(self, x: int, level: int) -> str:
        """An integer; one with too many digits by their number."""
        digits = x.bit_length() * DIGITS_PER_BIT
        return f"a number of about {digits:,.0f} digits" if digits > MAX_DIGITS else repr(x)


_BRIEF = _Brief()
