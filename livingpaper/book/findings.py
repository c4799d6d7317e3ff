"""What the README says has been found: the sentences of the front page's verdicts, written by the build.

They stand between two marks, and are those of the recorded verdicts, so that a test can compare them without a build.
"""

import json
import re
from pathlib import Path

from livingpaper.book.book_order import in_book_order, read_verdicts, title_of
from livingpaper.figures.verdict_text import in_prose, key_of

BEGIN = "<!-- findings: `python3 paper.py book` writes what stands between these two marks -->"
END = "<!-- end of the findings -->"
TOLD = re.compile(r"\{\{ (\w+?)_([A-Z]+\d+(?:_published)?)_told \}\}")


def write_findings(root: Path) -> bool:
    """Bring the findings in ``README.md`` up to date; returns whether anything had changed. No marks, no findings."""
    path = root / "README.md"
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    if BEGIN not in before or END not in before:
        return False
    head, _, rest = before.partition(BEGIN)
    after = f"{head}{BEGIN}\n{findings(root)}\n{END}{rest.partition(END)[2]}"
    if after != before:
        path.write_text(after, encoding="utf-8")
    return after != before


def findings(root: Path) -> str:
    """A paragraph of Markdown a chapter: the verdicts on its claims that ``book/index.md`` tells.

    Raises:
        StoreError: a record of verdicts that this version does not read.
        KeyError: the front page tells a claim that no record has.
    """
    told = TOLD.findall((root / "book" / "index.md").read_text(encoding="utf-8"))
    paragraphs = []
    for chapter in in_book_order(root, {chapter for chapter, _ in told}):
        path = root / "published" / "verdicts" / f"{chapter}.json"
        records = json.loads(path.read_text(encoding="utf-8"))
        verdicts = {key_of(v.claim): v for v in read_verdicts(records, path, "Publish the study again")}
        said = [f"{verdicts[key].sentence} *({in_prose(verdicts[key])})*" for of, key in told if of == chapter]
        paragraphs.append(" ".join([f"**[{title_of(root, chapter)}](book/{chapter}.ipynb)**", *said]))
    return "\n\n".join(paragraphs)
