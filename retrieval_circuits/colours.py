"""Which colour a name has in every figure: that of the drawn circuits where it is one of their roles or words.

Places in the palette of ``livingpaper.figures.style``: 0 blue, 1 vermilion, 2 green, 3 pink, 4 amber, 5 sky, 6 grey.
"""

VARIABLES = {"key": 0, "value": 1, "slot": 2, "nothing moved": 6}
"""What is exchanged between prompts; drawn keys are blue, drawn values vermilion."""
ROLES = {
    "layer 0 tags values with keys": 4,
    "layer 0 attends to the query key": 5,
    "layer 1 routes to the slot": 2,
    "routing": 2,
    "looks at the value": 2,
    "layer 1 copies the value": 3,
    "copying": 3,
    "copies what it looks at": 3,
    "looks one word back": 4,
    "answers held-out prompts": 1,
    "behaviour": 1,
    "the query moves the answer": 0,
    "the slot": 0,
}
"""Moves of a look-up have their arrows' colours, answers that of drawn answers."""
RECALL = {
    "recall": 1,
    "recalls": 1,
    "the y that was shown (recall)": 1,
    "the y shown (recall)": 1,
    "elimination": 0,
    "the y not yet shown": 0,
    "the y not shown": 0,
    "another y that was shown": 6,
    "another y shown": 6,
}
OURS = dict.fromkeys(
    ("ours", "ours, fresh rows", "trained again", "our definitions", "disjoint splits (ours)", "ours, native"), 0
)
SOURCE = dict.fromkeys(
    (
        *("source", "source (one seed)", "as published (one run)", "the source's stream", "the source's definitions"),
        *("published gate", "drawn as published", "as published", "file order (as published)", "source's rule"),
        "Adam, rate 1,000 (the source's)",
    ),
    1,
)
HOPS = {
    **dict.fromkeys(("one hop", "one look-up", "first symbol"), 0),
    **dict.fromkeys(("two hops", "two look-ups", "second symbol"), 1),
    **dict.fromkeys(("three hops", "three look-ups"), 2),
    "four hops": 3,
}
COLOURS = {**VARIABLES, **ROLES, **RECALL, **OURS, **SOURCE, **HOPS}
