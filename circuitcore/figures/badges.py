"""Badges: the word a check earned, with an icon and a colour, so that none of the three is needed alone."""

import html

from circuitcore.claims import Status

ICONS = {
    str(Status.SUPPORTED): "✔",
    str(Status.NEGATIVE): "✖",
    str(Status.UNSUPPORTED): "?",
    str(Status.HYPOTHESIS): "○",
}
"""A sign for each status that differs in shape, not only in colour."""

STATUS_COLORS = {
    str(Status.SUPPORTED): "#009E73",
    str(Status.NEGATIVE): "#D55E00",
    str(Status.UNSUPPORTED): "#E69F00",
    str(Status.HYPOTHESIS): "#6F7985",
}
"""Edge colours that stand on both themes; always beside the icon and the word. ``figures.css`` has them too."""


def badge(status: Status) -> str:
    """Inline HTML of a badge."""
    word = html.escape(str(status))
    icon = f'<span aria-hidden="true">{ICONS[str(status)]}</span>'
    return f'<span class="status-badge status-{word.lower()}">{icon} {word}</span>'
