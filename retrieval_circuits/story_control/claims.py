"""What the chapter claims, fixed before any of its networks was trained, and what the source published.

Thresholds of births are the source's (0.90, 0.85, 0.75). A battery that errs in one network of twenty is the usual
bound; twenty networks without an error cannot show it, seventy-five can, which is why each control that could fail has
twenty-five. A claim whose id ends in ``.published`` is the one after it, under the source's definitions.

SC7 came later, and the positive control was changed: in its first version one phrase of eight words came twice in a
row. Four networks that were looked at had learnt it perfectly, and none of their heads routed. In the positive control
pairs come twice since; phrases stayed as a control of their own, with new rows, and SC7 was written before it was
trained.
"""

from livingpaper.claims.claim import Claim

ERROR = 0.05
FEW = 0.2  # what 25 networks can show, with room for one birth
FOUND = 0.8  # what 25 networks can show, with room for one that is missed
ABLE = "the same definitions report the whole circuit in at least half of the networks that learn planted repeats"
LEARNT = "every one of these networks answers at least 0.9 of its held-out rows"

CLAIMS = (
    Claim(
        id="SC1.published",
        sentence="On the story nothing is born: neither behaviour nor routing, copying or faithfulness.",
        metric="share of runs with any birth, the source's definitions",
        direction="at_most",
        smallest_effect=FEW,
        control=ABLE,
        source="source",
        source_verdict="Supported: no births in one run",
    ),
    Claim(
        id="SC1",
        sentence="On the story nothing is born: neither behaviour nor routing, copying or faithfulness.",
        metric="share of runs with any birth, our definitions",
        direction="at_most",
        smallest_effect=FEW,
        control=ABLE,
        source="source",
        source_verdict="Supported, under its own definitions",
    ),
    Claim(
        id="SC2",
        sentence="The story is a test that the battery could have failed: some network could have had a birth.",
        metric="pieces of four that any network could give birth to on the story, the source's definitions",
        direction="at_least",
        smallest_effect=1,
        min_seeds=0,
        control="on planted repeats all four can be born",
        source="source",
        source_verdict="Implied: the measurements do not invent a mechanism where there is none",
    ),
    Claim(
        id="SC3",
        sentence="Held-out words of the story are not learnt: the best epoch is no better than always saying the "
        "commonest word.",
        metric="validation accuracy at its best checkpoint, less that of the commonest word",
        direction="at_most",
        smallest_effect=0.05,
        control="accuracy on the words trained on reaches 0.99 in every run",
        source="source",
        source_verdict="Shown: 0.094 at best; the commonest word scores 0.085 there",
    ),
    Claim(
        id="SC4.published",
        sentence="Where retrieval can be learnt, the battery reports it.",
        metric="share of networks trained on planted repeats with all four births, the source's definitions",
        direction="at_least",
        smallest_effect=FOUND,
        control=LEARNT,
    ),
    Claim(
        id="SC4",
        sentence="Where retrieval can be learnt, the battery reports it.",
        metric="share of networks trained on planted repeats with all four births, our definitions",
        direction="at_least",
        smallest_effect=FOUND,
        control=LEARNT,
    ),
    Claim(
        id="SC5.published",
        sentence="The battery reports the whole circuit in at most one of twenty networks that cannot have it.",
        metric="share of runs with all four births: shuffled targets, one layer, untrained; the source's definitions",
        direction="at_most",
        smallest_effect=ERROR,
        control=ABLE,
    ),
    Claim(
        id="SC5",
        sentence="The battery reports the whole circuit in at most one of twenty networks that cannot have it.",
        metric="share of runs with all four births: shuffled targets, one layer, untrained; our definitions",
        direction="at_most",
        smallest_effect=ERROR,
        control=ABLE,
    ),
    Claim(
        id="SC6.published",
        sentence="One birth alone is no false alarm, either: it happens in at most one of twenty such networks.",
        metric="share of the same runs with any of the four births, the source's definitions",
        direction="at_most",
        smallest_effect=ERROR,
        control=ABLE,
    ),
    Claim(
        id="SC6",
        sentence="One birth alone is no false alarm, either: it happens in at most one of twenty such networks.",
        metric="share of the same runs with any of the four births, our definitions",
        direction="at_most",
        smallest_effect=ERROR,
        control=ABLE,
    ),
    Claim(
        id="SC7.published",
        sentence="Retrieval is reported in whatever way it is done: also where phrases of eight words come twice.",
        metric="share of networks trained on planted phrases with all four births, the source's definitions",
        direction="at_least",
        smallest_effect=FOUND,
        control=LEARNT,
    ),
    Claim(
        id="SC7",
        sentence="Retrieval is reported in whatever way it is done: also where phrases of eight words come twice.",
        metric="share of networks trained on planted phrases with all four births, our definitions",
        direction="at_least",
        smallest_effect=FOUND,
        control=LEARNT,
    ),
)

SOURCE = "Retrieval Motif Emergence in Small Transformers, section 2"

PUBLISHED = {
    "accuracy, val, best epoch": 0.0940,
    "accuracy, test, best epoch": 0.0769,
    "accuracy, 40 words, best epoch": 0.0769,
    "accuracy, val, final": 0.0427,
    "accuracy, test, final": 0.0256,
    "accuracy, 40 words, final": 0.0256,
    "accuracy, train, final": 1.0,
    "births": 0,
}
"""Source numbers, all of one seed; shown beside ours, never used in a computation. Source: ``SOURCE``."""

PUBLISHED_TEXT = {
    "tokens": 1168,
    "types": 547,
    "val targets never in train": 0.350,
    "test targets never in train": 0.359,
    "val, always the commonest word": 0.085,
    "test, always the commonest word": 0.085,
    "base rows without an earlier copy": "22 of 32",
    "base rows with a word that the probe never saw": "20 of 32",
}
"""Counted on the source's story."""
