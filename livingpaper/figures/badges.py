"""Badges: the word a claim earned, with an icon and a colour, so that none of the three is needed alone."""

import html

from livingpaper.claims.verdict import Status

ICONS = {
    Status.SUPPORTED: "✔",
    Status.REFUTED: "✖",
    Status.UNDECIDED: "?",
    Status.CONTROL_FAILED: "‼",
    Status.VOID: "∅",
    Status.NOT_CHECKED: "○",
}
"""A sign for each status that differs in shape, not only in colour. A "!" would switch off the link it begins."""


def badge(status: Status) -> str:
    """Inline HTML of a badge."""
    word = html.escape(str(status))
    icon = f'<span aria-hidden="true">{ICONS[status]}</span>'
    return f'<span class="status-badge {status_class(status)}">{icon} {word}</span>'


def status_class(status: Status) -> str:
    """The class that colours a status: ``status-control-failed``."""
    return f"status-{str(status).lower().replace(' ', '-')}"
