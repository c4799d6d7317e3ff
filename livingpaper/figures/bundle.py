"""A figure as a page shows it: chart, caption with computed facts, alt text, and links to data, code and runs."""

import ast
import html
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import altair as alt

from livingpaper.claims.view import View
from livingpaper.figures.caption import escape_markdown, facts, markdown_to_html
from livingpaper.figures.chart_html import paper_html
from livingpaper.figures.figure_files import Keep, inside
from livingpaper.figures.rows import rounded

NAME = re.compile(r"fig-[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, eq=False, kw_only=True)
class Figure:
    """One figure of a chapter.

    Attributes:
        name: ``fig-`` and lower-case words; prose refers to it with ``{numref}`fig-name```. One per book.
        chart: what is drawn.
        view: what it was drawn from: the table behind "data (CSV)" and the facts of the caption.
        takeaway: the author's sentence, which opens the caption; MyST inline markup.
        alt_text: what a reader would see, for those who cannot.
        number: its place in the chapter, printed in a live notebook; the book numbers by itself.
        made_by: functions whose code is shown as the figure's; the picture's own is added.
        runs: run ids by arm.
        keep: where its stills and its table go.

    Raises:
        ValueError: an unusable name, no takeaway, or no alt text.
    """

    name: str
    chart: alt.TopLevelMixin
    view: View
    takeaway: str
    alt_text: str
    number: int
    made_by: tuple[Callable, ...] = ()
    runs: Mapping[str, tuple[str, ...]]
    keep: Keep = inside

    def __post_init__(self):
        if not NAME.fullmatch(self.name):
            raise ValueError(
                f"a figure's name is fig- and lower-case words with dashes ('fig-births'); got {self.name!r}"
            )
        for what, text in (("takeaway", self.takeaway), ("alt", self.alt_text)):
            if not text.strip():
                raise ValueError(f"figure {self.name!r}: {what} is empty; say in a sentence what the reader should see")
        if not isinstance(self.chart, alt.TopLevelMixin):
            raise ValueError(f"figure {self.name!r}: the chart must be Altair's, got {type(self.chart).__name__}")

    @cached_property
    def chart_html(self) -> str:
        """The chart alone: still and specification."""
        return paper_html(self.chart, self.alt_text, self.name, self.keep)

    @property
    def glue_name(self) -> str:
        """The name under which a book page finds the chart among a notebook's outputs."""
        return f"{self.name}-chart"

    def markdown(self) -> str:
        """The figure as a MyST directive around the glued chart: numbered, captioned, referable by ``name``."""
        computed = escape_markdown(" ".join(facts(self.view)))
        # The fence is longer than any in the code below it; the links are one line, so that MyST sees one HTML block.
        return (
            f"::::::{{glue:figure}} {self.glue_name}\n:name: {self.name}\n:figclass: paper-figure\n\n"
            f"{' '.join(self.takeaway.split())} {computed}\n\n{self.links}\n::::::\n"
        )

    def notebook_html(self) -> str:
        """The figure for a live notebook, where nothing resolves directives."""
        caption = f"{markdown_to_html(self.takeaway)} {html.escape(' '.join(facts(self.view)))}"
        draw = "<script>window.paperDraw && document.querySelectorAll('.vl-chart').forEach(window.paperDraw)</script>"
        return (
            f'<figure id="{self.name}" style="margin:1em 0">{self.chart_html}'
            f"<figcaption><strong>Figure {self.number}.</strong> {caption}</figcaption>{self.links}</figure>{draw}"
        )

    def mimebundle(self) -> dict[str, str]:
        """What a cell displays: a numbered figure for the book, HTML for a notebook, the alt text for a terminal."""
        return {
            "text/markdown": self.markdown(),
            "text/html": self.notebook_html(),
            "text/plain": f"Figure {self.number}: {self.alt_text}",
        }

    @cached_property
    def links(self) -> str:
        """One line of HTML: the drawn table as CSV, the code that made it, the runs behind it."""
        table = rounded(self.view.table.reset_index(drop=True)).to_csv(index=False, lineterminator="\n")
        file = f"{self.name}.csv"
        address = html.escape(self.keep(file, "text/csv", table))
        parts = [f'<a download="{file}" href="{address}">data (CSV)</a>']
        code = "\n\n".join(source for source in map(source_of, [*self.made_by, *self._picture()]) if source)
        if code:
            parts.append(f"<details><summary>code</summary><pre>{_one_line(code)}</pre></details>")
        shown = f"<details><summary>runs</summary>{run_list(self.runs)}</details>"
        parts.append(shown if self.runs else "<span>no training run enters</span>")
        return f'<div class="fig-links">{"".join(parts)}</div>'

    def _picture(self) -> list[Callable]:
        """The function that drew the chart, if it is one of ours."""
        usermeta = self.chart.usermeta
        maker = usermeta.get("maker", "") if isinstance(usermeta, dict) else ""
        module, _, name = maker.partition(":")
        return [getattr(importlib.import_module(module), name)] if name else []


def run_list(runs: Mapping[str, tuple[str, ...]]) -> str:
    """Run ids by arm as HTML."""
    arms = (
        f"<dt>{html.escape(arm)}</dt><dd><code>{html.escape(', '.join(ids))}</code></dd>" for arm, ids in runs.items()
    )
    return f"<dl>{''.join(arms)}</dl>"


def source_of(function: Callable) -> str:
    """A function's source under its module's name, with the functions and classes of that module it uses.

    "" for code that has no file, such as a cell's.
    """
    function = inspect.unwrap(function)
    module = inspect.getmodule(function)
    found, left = {}, [function]
    try:
        while left:
            part = left.pop(0)
            found[part.__name__] = inspect.getsource(part).rstrip()
            left += [used for used in _used(part, module) if used.__name__ not in found and used not in left]
    except (OSError, TypeError):
        return ""
    return f"# {function.__module__}\n" + "\n\n\n".join(found.values())


def _used(part: object, module: ModuleType | None) -> list:
    """Functions and classes of the module that a part of it names, in the order named."""
    names = [
        node.id for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(part)))) if isinstance(node, ast.Name)
    ]
    parts = (getattr(module, name, None) for name in dict.fromkeys(names))
    return [
        inspect.unwrap(used)
        for used in parts
        if (inspect.isfunction(used) or inspect.isclass(used)) and used.__module__ == getattr(module, "__name__", None)
    ]


def _one_line(code: str) -> str:
    """Preformatted code as HTML without a line break, so that Markdown cannot end the HTML block inside it."""
    return html.escape(code).replace("\n", "&#10;")
