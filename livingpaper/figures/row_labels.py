"""Labels of the rows of a plot, in as many lines as they need, each block centred on its row.

An axis cannot do this: it hangs the lines of a label below the middle of the row, into the next one.
"""

import textwrap

import altair as alt

LETTER = 7.2
"""Width of an average letter at 12 pixels in the widest of the fonts in use."""
LINE = 14
"""Height of a line, in pixels."""


def label_lines(label: str, room: int) -> list[str]:
    """The lines of a label in ``room`` pixels; a long word is not broken."""
    return textwrap.wrap(label, max(8, int(room / LETTER)), break_long_words=False) or [""]


def tallest(labels: list[str], room: int) -> int:
    """Height a row must have for the longest of its labels, in pixels."""
    return LINE * max(len(label_lines(label, room)) for label in labels) + 6


def row_labels(y: alt.Y, labels: list[str], room: int) -> list[alt.Chart]:
    """Layers that write the labels left of the plot.

    Args:
        y: the encoding that all layers of the plot share; its axis shows no labels.
        labels: values of its column.
        room: pixels left of the plot.
    """
    field = y.to_dict()["field"]
    by_height: dict[int, list[dict[str, str]]] = {}
    for label in labels:
        lines = label_lines(label, room)
        by_height.setdefault(len(lines), []).append({field: label, "words": "\n".join(lines)})
    layers = []
    for height, rows in by_height.items():
        text = alt.Chart(alt.Data(values=rows)).mark_text(
            align="right",
            baseline="middle",
            dy=-LINE * (height - 1) / 2,
            lineBreak="\n",
            lineHeight=LINE,
            tooltip=False,
        )
        layers.append(text.encode(x=alt.XValue(-8), y=y, text=alt.Text("words:N")))
    return layers
