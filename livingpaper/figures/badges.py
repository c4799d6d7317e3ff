"""Badges: the word a check earned, with an icon and a colour, so that none of the three is needed alone."""

import html

from livingpaper.claims.verdict import Status

ICONS = {
    str(Status.SUPPORTED): "✔",
    str(Status.NEGATIVE): "✖",
    str(Status.UNSUPPORTED): "?",
    str(Status.HYPOTHESIS): "○",
}
"""A sign for each status that differs in shape, not only in colour."""


def badge(status: Status) -> str:
    """Inline HTML of a badge."""
    word = html.escape(str(status))
    icon = f'<span aria-hidden="true">{ICONS[str(status)]}</span>'
    return f'<span class="status-badge status-{word.lower()}">{icon} {word}</span>'
