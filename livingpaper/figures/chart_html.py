"""A chart as HTML that needs no network: a still picture, and the specification that a script brings to life."""

import base64
import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import altair as alt
import vl_convert

from livingpaper.figures import style, vega

STATIC = Path(__file__).parent / "static"
MAX_SVG = 400_000
"""Characters of SVG above which the still becomes a PNG."""
URI_SAFE = " !$&'()*+,-./:;=?@_~{}[]|^`"
"""Characters that a ``data:`` address can carry as they are inside double quotes."""


def paper_html(chart: alt.TopLevelMixin, alt_text: str) -> str:
    """One ``div`` with a still of the chart and its specification.

    Readers without JavaScript, and printers, see the still; the book's ``mount.js`` draws the live chart over it, in
    the layout and theme that fit (``usermeta`` of ``style.responsive``).

    Args:
        chart: any Altair chart.
        alt_text: what the picture shows, for readers who cannot see it.

    Raises:
        ValueError: no alt text.
    """
    if not alt_text.strip():
        raise ValueError("every chart needs alt text: say in a sentence what a reader would see")
    spec = compact({**style.specification(chart), "description": alt_text})
    # Inside a script element only "</" could end it early.
    data = json.dumps(spec, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    return (
        f'<div class="vl-chart"><img class="vl-still" alt="{html.escape(alt_text)}" src="{html.escape(still(spec))}">'
        f'<script type="application/json" class="vl-spec">{data}</script></div>'
    )


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


def still(spec: dict[str, Any]) -> str:
    """The chart as a ``data:`` address: SVG for sharp print and small pages, PNG where the SVG would be huge."""
    quiet = _without_unseen({name: part for name, part in spec.items() if name not in ("usermeta", "datasets")})
    quiet |= {"datasets": spec.get("datasets", {}), "background": "white"}
    quiet["config"] = {**spec.get("config", {}), "aria": False}
    svg = vl_convert.vegalite_to_svg(quiet, vl_version=vega.version())
    # Digits beyond a tenth of a pixel are noise that doubles the size.
    svg = re.sub(r' d="([^"]*)"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), svg)
    svg = re.sub(r"(\d\.\d{2})\d+", r"\1", svg)
    if len(svg) <= MAX_SVG:
        return data_uri("image/svg+xml", svg)
    png = vl_convert.vegalite_to_png(quiet, vl_version=vega.version(), scale=1.5)
    return "data:image/png;base64," + base64.b64encode(png).decode()


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


def data_uri(kind: str, text: str) -> str:
    """Text as a ``data:`` address; percent-encoded rather than base64, which compresses far worse."""
    return f"data:{kind};charset=utf-8," + quote(text, safe=URI_SAFE)


def loader_html() -> str:
    """What a live notebook needs once for its charts to come alive without a network: styles, Vega, a script."""
    script = (STATIC / "notebook.js").read_text(encoding="utf-8")
    styles = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("figures.css", "circuit.css"))
    return (
        f"<style>{styles}</style><script>{_in_script(vega.javascript())}</script><script>{_in_script(script)}</script>"
    )


def _in_script(code: str) -> str:
    return code.replace("</script", "<\\/script")
