"""A chart as HTML that needs no network: a still picture, and the specification that a script brings to life."""

import html
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import altair as alt
import vl_convert

from livingpaper.figures import style, vega
from livingpaper.figures.compaction import compact
from livingpaper.figures.figure_files import Keep, inside

STATIC = Path(__file__).parent / "static"
PHONE = "screen and (max-width: 44rem)"
"""Where a chart shows its layout for a phone until a script has measured the room it has."""
MAX_SVG = 1_000_000
"""Characters of SVG above which the still becomes a PNG. Up to it a PNG takes seconds, and is hardly smaller."""

STILL_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""What is drawn with the widths by which the room for words was measured; a wider face would be cut at the edge."""


@dataclass(frozen=True)
class Still:
    """A picture of a chart: the ending of its file, its kind, what it holds, its size on the page in pixels."""

    ending: str
    kind: str
    content: str | bytes
    width: int
    height: int

    def attributes(self, where: Literal["src", "srcset"], name: str, keep: Keep) -> str:
        """What an element of HTML needs to show it."""
        address = html.escape(keep(f"{name}.{self.ending}", self.kind, self.content))
        # Spaces separate the addresses of a srcset.
        address = address.replace(" ", "%20" if where == "srcset" else " ")
        return f'{where}="{address}" width="{self.width}" height="{self.height}"'


def paper_html(chart: alt.TopLevelMixin, alt_text: str, name: str = "", keep: Keep = inside) -> str:
    """One ``div`` with a still of the chart, one for a phone if it has a layout for that, and its specification.

    Readers without JavaScript, and printers, see a still; the book's ``mount.js`` draws the live chart over it, in
    the layout and theme that fit (``usermeta`` of ``style.responsive``), and finds room kept for it and its controls.

    Args:
        chart: any Altair chart.
        alt_text: what the picture shows, for readers who cannot see it.
        name: what the stills' files are called; needed where they do not stay inside.
        keep: where those go.

    Raises:
        ValueError: no alt text.
    """
    if not alt_text.strip():
        raise ValueError("every chart needs alt text: say in a sentence what a reader would see")
    spec = compact({**style.specification(chart), "description": alt_text})
    # Inside a script element only "</" could end it early.
    data = json.dumps(spec, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    usermeta, wide, phone = spec.get("usermeta", {}), still(spec).attributes("src", name, keep), ""
    if "narrow" in usermeta:
        narrow = still({**usermeta["narrow"], "datasets": spec.get("datasets", {})})
        shown = narrow.attributes("srcset", f"{name}.narrow", keep)
        phone = f'<source class="vl-narrow" media="{PHONE}" {shown}>'
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


def still(spec: dict[str, Any]) -> Still:
    """The chart drawn once: SVG for sharp print and small pages, PNG where the SVG would be huge."""
    quiet = _without_unseen({name: part for name, part in spec.items() if name not in ("usermeta", "datasets")})
    quiet |= {"datasets": spec.get("datasets", {}), "background": "white"}
    quiet["config"] = {**spec.get("config", {}), "aria": False, "font": STILL_FONT}
    svg = vl_convert.vegalite_to_svg(quiet, vl_version=vega.version())
    width, height = (math.ceil(float(side)) for side in re.search(r'width="([\d.]+)" height="([\d.]+)"', svg).groups())
    # Digits beyond a tenth of a pixel are noise that doubles the size; those of words are what is said.
    svg = re.sub(r' d="([^"]*)"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), svg)
    svg = _numbered_anew(re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d{2})\d+", r"\1", tag[0]), svg))
    if len(svg) <= MAX_SVG:
        return Still("svg", "image/svg+xml", svg, width, height)
    png = vl_convert.vegalite_to_png(quiet, vl_version=vega.version(), scale=1.5)
    return Still("png", "image/png", png, width, height)


def _numbered_anew(svg: str) -> str:
    """The names of its clipping paths from 1 on: Vega counts through all charts that one process draws."""
    names = {}
    return re.sub(r'(?<=["#])clip\d+', lambda found: names.setdefault(found[0], f"clip{len(names) + 1}"), svg)


def _without_unseen(node: Any) -> Any:
    """A specification without the layers that are there only to be pointed at."""
    if isinstance(node, list):
        return [_without_unseen(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {name: _without_unseen(part) for name, part in node.items()}
    if isinstance(kept.get("layer"), list):  # a table may have a column of that name, whose kind is told
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
