"""The footer of a chapter: what its numbers were made from."""

import html
import json
from collections.abc import Mapping
from typing import Any

from livingpaper.figures.bundle import run_list

WHOSE = {"paper": "Published runs", "rerun": "Your runs"}


def provenance_html(record: Mapping[str, Any]) -> str:
    """Parameters, versions, commit and run ids as HTML.

    Args:
        record: what a chapter leaves in its results file: ``parameters``, ``versions``, ``commit``, ``runs`` by
            origin and arm, and ``contents``, the root hash of what is published (None: nothing has one).
    """
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    values = ", ".join(f"{name} = {json.dumps(value)}" for name, value in record["parameters"].items())
    lines = [("Parameters", values), ("Made with", versions), ("Commit", record["commit"])]
    parts = [f"<dt>{term}</dt><dd>{html.escape(text)}</dd>" for term, text in lines]
    if root := record["contents"]:
        meaning = (
            "SHA-256 over all published runs, tables, weights, verdicts: <code>circuitcore verify published</code>"
        )
        folded = f"<details><summary><code>{root[:12]}</code></summary><code>{root}</code>, {meaning}</details>"
        parts.append(f"<dt>Published contents</dt><dd>{folded}</dd>")
    for origin, arms in record["runs"].items():
        n_runs = len({run_id for ids in arms.values() for run_id in ids})
        listed = run_list({arm: tuple(ids) for arm, ids in arms.items()})
        summary = f"<summary>{n_runs} runs</summary>"
        parts.append(f"<dt>{WHOSE[origin]}</dt><dd><details>{summary}{listed}</details></dd>")
    return f'<div class="paper-provenance"><dl>{"".join(parts)}</dl></div>'
