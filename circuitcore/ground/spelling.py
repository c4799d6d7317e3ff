"""Words for errors that name things: those that exist, what a misspelt one meant, the first few of many."""

import difflib
from collections.abc import Iterable, Sequence

MOST_NAMED = 5


def close_match(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like ``name`` (case ignored), or None when nothing is near."""
    by_folded = {option.casefold(): option for option in sorted(known)}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[near[0]] if near else None


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """One sentence for an error: ``unknown metric 'acuracy'; did you mean 'accuracy'? known: ...``.

    Args:
        kind: what was looked up, as a noun ("metric", "study").
        name: what was given.
        known: every name that exists.
    """
    options = sorted(known)
    near = close_match(name, options)
    guess = f"; did you mean {near!r}?" if near else ";"
    return f"unknown {kind} {name!r}{guess} known: {', '.join(options) if options else '(none)'}"


def first_of(names: Sequence[str]) -> str:
    """The first few of some names, and how many more there are: ``a, b, c, d, e and 7 more``."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
