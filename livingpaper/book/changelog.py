"""What the newest release of CHANGELOG.md says of results: a verdict that moves is named there, then recorded."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from circuitcore.ground.errors import UserError
from livingpaper.claims.verdict import Verdict

CHANGELOG = "CHANGELOG.md"
RELEASE, PART = re.compile(r"^## ", re.MULTILINE), re.compile(r"^### ", re.MULTILINE)
RESULTS = "Results changed"


class UnnamedVerdictError(UserError):
    """Verdicts that differ from what is recorded, and that the newest release does not name."""


def require_named(recorded: Mapping[str, Verdict], verdicts: Iterable[Verdict], root: Path) -> None:
    """Refuse to record moved verdicts that CHANGELOG.md does not name; a paper without one may record all.

    Raises:
        UnnamedVerdictError: which, what was recorded, and what they are now.
    """
    path = root / CHANGELOG
    if not path.is_file():
        return
    said = results_changed(path.read_text(encoding="utf-8"))
    now = {verdict.claim.id: verdict.status for verdict in verdicts}
    moved = [name for name, before in recorded.items() if name in now and now[name] != before.status]
    if unnamed := [name for name in moved if not re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)", said)]:
        told = "; ".join(f"{name}: {recorded[name].status} -> {now[name]}" for name in unnamed)
        raise UnnamedVerdictError(
            f"verdicts that moved are not recorded before {path} names their claims under '{RESULTS}' of its newest "
            f"release: {told}"
        )


def results_changed(changelog: str) -> str:
    """What stands under "Results changed" of the newest release; empty where nothing does."""
    newest = "".join(RELEASE.split(changelog)[1:2])
    parts = (part.partition("\n") for part in PART.split(newest)[1:])
    return "".join(text for heading, _, text in parts if heading.strip() == RESULTS)
