"""What the README says has been found: the sentences of the front page's verdicts, written by the build.

They stand between two marks, and are those of the recorded verdicts, so that a test can compare them without a build.
"""

import re
from pathlib import Path

from livingpaper.book.book_order import in_book_order, title_of, verdicts_in
from livingpaper.claims.multiplicity import many
from livingpaper.figures.verdict_text import in_prose, key_of

BEGIN = "<!-- findings: `python3 paper.py book` writes what stands between these two marks -->"
END = "<!-- end of the findings -->"
TOLD = re.compile(r"\{\{\s*(\w+)_(?:told|badge)\s*\}\}")


def write_findings(root: Path) -> bool:
    """Bring the findings in ``README.md`` up to date; returns whether anything had changed. No marks, no findings.

    Raises:
        StoreError: a record of verdicts that is not what was published, or that this version does not read.
    """
    path = root / "README.md"
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    head, begin, rest = before.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        return False
    after = f"{head}{BEGIN}\n{findings(root)}\n{END}{tail}"
    if after != before:
        path.write_text(after, encoding="utf-8", newline="\n")
    return after != before


def findings(root: Path) -> str:
    """A paragraph of Markdown a chapter: those recorded verdicts on its claims that ``book/index.md`` tells,
    or shows the badges of.

    Raises:
        StoreError: a record of verdicts that is not what was published, or that this version does not read.
    """
    told = list(dict.fromkeys(TOLD.findall((root / "book" / "index.md").read_text(encoding="utf-8"))))
    published = root / "published"
    paragraphs = []
    for chapter in in_book_order(root, (path.stem for path in (published / "verdicts").glob("*.json"))):
        recorded = verdicts_in(published, chapter).values()
        verdicts = {f"{chapter}_{key_of(verdict.claim)}": verdict for verdict in recorded}
        lost = many([list(recorded)]).lost
        said = [
            f"{verdicts[key].sentence} *({in_prose(verdicts[key], lost=verdicts[key].claim.id in lost)})*"
            for key in told
            if key in verdicts
        ]
        if said:
            paragraphs.append(" ".join([f"**[{title_of(root, chapter)}](book/{chapter}.ipynb)**", *said]))
    return "\n\n".join(paragraphs)
