"""Vega as one classic script, made from an installed package: no download, and it works from ``file://`` too."""

import functools
from pathlib import Path

import altair as alt
import vl_convert

PRESETS = Path(__file__).parent / "static/presets.js"


def version() -> str:
    """The Vega-Lite version that Altair writes specifications for, as ``vl_convert`` names it ("6.4")."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


@functools.cache
def javascript() -> str:
    """Vega, Vega-Lite and vega-embed (0.9 MB), setting ``window.vegaEmbed``; and ``window.vegaPresets`` of our own.

    Wrapped in a function because the bundle is written as a module, and browsers refuse modules from ``file://``.
    """
    bundle = vl_convert.javascript_bundle(vl_version=version())
    return "(()=>{" + bundle + "})();\n" + PRESETS.read_text(encoding="utf-8")
