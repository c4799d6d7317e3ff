"""A chart as HTML that needs no network: a still picture, and the specification that a script brings to life."""

import base64
import csv
import html
import io
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import altair as alt
import vl_convert

from livingpaper.figures import style, vega
from livingpaper.figures.data_address import data_address

STATIC = Path(__file__).parent / "static"
PHONE = "screen and (max-width: 44rem)"
"""Where a chart shows its layout for a phone until a script has measured the room it has."""
MAX_SVG = 400_000
"""Characters of SVG above which the still becomes a PNG."""


@dataclass(frozen=True)
class Still:
    """A picture of a chart: the ending of its file, its ``data:`` address, its size on the page in pixels."""

    ending: str
    address: str
    width: int
    height: int

    def attributes(self, where: Literal["src", "srcset"], name: str) -> str:
        """What an element of HTML needs to show it; ``name`` is its file's where a page may have files beside it."""
        # Spaces separate the addresses of a srcset.
        address = html.escape(self.address).replace(" ", "%20" if where == "srcset" else " ")
        size = f'width="{self.width}" height="{self.height}"'
        return (f'data-file="{name}.{self.ending}" ' if name else "") + f'{where}="{address}" {size}'


def paper_html(chart: alt.TopLevelMixin, alt_text: str, name: str = "") -> str:
    """One ``div`` with a still of the chart, one for a phone if it has a layout for that, and its specification.

    Readers without JavaScript, and printers, see a still; the book's ``mount.js`` draws the live chart over it, in
    the layout and theme that fit (``usermeta`` of ``style.responsive``), and finds room kept for it and its controls.

    Args:
        chart: any Altair chart.
        alt_text: what the picture shows, for readers who cannot see it.
        name: what the stills' files are called where the page may have files beside it; "" keeps them inside.

    Raises:
        ValueError: no alt text.
    """
    if not alt_text.strip():
        raise ValueError("every chart needs alt text: say in a sentence what a reader would see")
    spec = compact({**style.specification(chart), "description": alt_text})
    # Inside a script element only "</" could end it early.
    data = json.dumps(spec, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    usermeta, wide, phone = spec.get("usermeta", {}), still(spec).attributes("src", name), ""
    if "narrow" in usermeta:
        narrow = still({**usermeta["narrow"], "datasets": spec.get("datasets", {})})
        phone = f'<source class="vl-narrow" media="{PHONE}" {narrow.attributes("srcset", name and f"{name}-narrow")}>'
    room = f' style="--controls: {n}"' if (n := len(_controls(spec))) else ""
    return (
        f'<div class="vl-chart{"" if "dark" in usermeta else " has-one-theme"}"{room}><picture>{phone}'
        f'<img class="vl-still" alt="{html.escape(alt_text)}" loading="lazy" {wide}></picture>'
        f'<script type="application/json" class="vl-spec">{data}</script></div>'
    )


def _controls(node: Any) -> set[str]:
    """The names of parameters that a reader sets by controls beside the chart."""
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    found = {name for part in parts for name in _controls(part)}
    bind = node.get("bind") if isinstance(node, dict) else None
    return found | {node["name"]} if isinstance(bind, dict) and "input" in bind else found


def compact(spec: dict[str, Any]) -> dict[str, Any]:
    """The same specification with its tables as CSV text: a third of the size on the page."""
    tables = {name: _as_csv(rows) for name, rows in spec.get("datasets", {}).items()}
    formats = {name: found[1] for name, found in tables.items() if found}
    if not formats:
        return spec
    written = {name: found[0] for name, found in tables.items() if found}
    return _with_formats({**spec, "datasets": {**spec["datasets"], **written}}, formats)


def _as_csv(rows: object) -> tuple[str, dict[str, Any]] | None:
    """CSV text of a list of records and the format that reads it back; None where CSV would lose something."""
    if not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        return None
    columns = list(rows[0])
    kinds = {column: _kind([row.get(column) for row in rows]) for column in columns}
    if any(set(row) != set(columns) for row in rows) or None in kinds.values():
        return None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        cells = (row[column] for column in columns)
        writer.writerow(str(cell).lower() if isinstance(cell, bool) else cell for cell in cells)
    return text.getvalue(), {"type": "csv", "parse": kinds}


def _kind(values: list) -> str | None:
    """How Vega must read a column back; None if it could not: it takes an empty cell for a missing value."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known):
        return "boolean"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return "number"
    return "string" if all(isinstance(value, str) and value for value in known) else None


def _with_formats(node: Any, formats: dict[str, dict]) -> Any:
    """Every reference to a table, at any depth, told how the table is written."""
    if isinstance(node, list):
        return [_with_formats(item, formats) for item in node]
    if not isinstance(node, dict):
        return node
    changed = {key: value if key == "datasets" else _with_formats(value, formats) for key, value in node.items()}
    data = changed.get("data")
    if isinstance(data, dict) and data.get("name") in formats:
        changed["data"] = {**data, "format": formats[data["name"]]}
    return changed


def still(spec: dict[str, Any]) -> Still:
    """The chart drawn once: SVG for sharp print and small pages, PNG where the SVG would be huge."""
    quiet = _without_unseen({name: part for name, part in spec.items() if name not in ("usermeta", "datasets")})
    quiet |= {"datasets": spec.get("datasets", {}), "background": "white"}
    quiet["config"] = {**spec.get("config", {}), "aria": False}
    svg = vl_convert.vegalite_to_svg(quiet, vl_version=vega.version())
    width, height = (math.ceil(float(side)) for side in re.search(r'width="([\d.]+)" height="([\d.]+)"', svg).groups())
    # Digits beyond a tenth of a pixel are noise that doubles the size.
    svg = re.sub(r' d="([^"]*)"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), svg)
    svg = re.sub(r"(\d\.\d{2})\d+", r"\1", svg)
    if len(svg) <= MAX_SVG:
        return Still("svg", data_address("image/svg+xml", svg), width, height)
    png = vl_convert.vegalite_to_png(quiet, vl_version=vega.version(), scale=1.5)
    return Still("png", "data:image/png;base64," + base64.b64encode(png).decode(), width, height)


def _without_unseen(node: Any) -> Any:
    """A specification without the layers that are there only to be pointed at."""
    if isinstance(node, list):
        return [_without_unseen(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {name: _without_unseen(part) for name, part in node.items()}
    if "layer" in kept:
        marks = (layer.get("mark") for layer in kept["layer"])
        kept["layer"] = [
            layer
            for layer, mark in zip(kept["layer"], marks, strict=True)
            if not (isinstance(mark, dict) and mark.get("opacity") == 0)
        ]
    return kept


def loader_html() -> str:
    """What a live notebook needs once for its charts to come alive without a network: styles, Vega, a script."""
    script = (STATIC / "notebook.js").read_text(encoding="utf-8")
    styles = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("figures.css", "circuit.css"))
    return (
        f"<style>{styles}</style><script>{_in_script(vega.javascript())}</script><script>{_in_script(script)}</script>"
    )


def _in_script(code: str) -> str:
    return code.replace("</script", "<\\/script")
