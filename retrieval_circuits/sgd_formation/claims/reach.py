"""Claims on how far reading reaches: rows that come back, pairs never trained on, more keys."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less
from livingpaper.claims.units import at_least, at_most
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation.claims.small_networks import GAP, LONGER_AND_TEN_ADDED, SCORE, TEN_ADDED
from retrieval_circuits.sgd_formation.design import FIXED, FRESH
from retrieval_circuits.sgd_formation.readings import networks as readings

REACH = (
    Claim(
        id="SF10",
        says=Says(
            holds="Rows that come back are read better than new ones at the end.",
            fails="Rows that come back are not read better than new ones at the end.",
            whether="whether rows that come back are read better than new ones",
        ),
        reading=GAP(
            "accuracy on rows trained on, less that on test rows, fixed rows",
            values=Less(readings.accuracy(FIXED, "train"), readings.accuracy(FIXED)),
        ),
        bound=at_least(0.05, "five points, the margin that rules have"),
        controls=(
            Control(
                reading=GAP(
                    "the same difference where rows are always fresh",
                    values=Less(readings.accuracy(FRESH, "train"), readings.accuracy(FRESH)),
                ),
                bound=at_most(0.05, "rows of the two splits are equally hard"),
            ),
        ),
        remark="Its control could hardly have failed: rows that are always fresh are alike in both splits.",
    ),
    Claim(
        id="SF11",
        says=Says(
            holds="Pairs of a key and a value that were never trained on are read as well as the others.",
            fails="Pairs of a key and a value that were never trained on are read worse.",
            whether="whether held-out pairs are read as well, within five points",
        ),
        reading=GAP(
            "accuracy on held-out pairs, less that on test rows,",
            values=Less(readings.accuracy(FRESH, "heldout_pairs"), readings.accuracy(FRESH)),
        ),
        bound=at_least(-0.05, "within five points; the source's network loses 8.5"),
        source="source",
        source_verdict="Refuted",
        source_stance="elsewhere",
        remark=LONGER_AND_TEN_ADDED,
    ),
    Claim(
        id="SF12",
        says=Says(
            holds="The look-up holds for more keys than were trained on.",
            fails="The look-up does not hold for more keys than were trained on.",
            whether="whether the look-up holds for more keys",
        ),
        reading=SCORE("accuracy on streams of more keys", values=readings.accuracy(FRESH, "structural_ood")),
        bound=BEHAVIOUR,
        source="source",
        source_verdict="Refuted",
        source_stance="elsewhere",
        remark=LONGER_AND_TEN_ADDED,
    ),
    # Declared on 2026-11-28, before accuracy on twins was read.
    Claim(
        id="SF36",
        says=Says(
            holds="Where only the value differs, pairs that were never trained on are read as well as pairs that were.",
            fails="Where only the value differs, pairs that were never trained on are read worse.",
            whether="whether held-out pairs are read as well, within five points, where only the value differs",
        ),
        reading=GAP(
            "accuracy on held-out pairs, less that on the same rows with pairs trained on,",
            values=Less(readings.accuracy(FRESH, "heldout_pairs"), readings.accuracy(FRESH, "heldout_twins")),
        ),
        bound=at_least(-0.05, "within five points, as of test rows"),
        controls=(
            Control(
                reading=SCORE("accuracy with pairs trained on", values=readings.accuracy(FRESH, "heldout_twins")),
                bound=BEHAVIOUR,
            ),
        ),
        remark=TEN_ADDED,
    ),
    Claim(
        id="SF37",
        says=Says(
            holds="After fixed rows pairs that were never trained on are read as well where only the value differs.",
            fails="After fixed rows pairs that were never trained on are read worse where only the value differs.",
            whether="whether after fixed rows held-out pairs are read as well, within five points, where only the "
            "value differs",
        ),
        reading=GAP(
            "accuracy on held-out pairs, less that on the same rows with pairs trained on, fixed rows",
            values=Less(readings.accuracy(FIXED, "heldout_pairs"), readings.accuracy(FIXED, "heldout_twins")),
        ),
        bound=at_least(-0.05, "within five points, as where they are fresh"),
        controls=(
            Control(
                reading=SCORE(
                    "accuracy with pairs trained on, fixed rows", values=readings.accuracy(FIXED, "heldout_twins")
                ),
                bound=BEHAVIOUR,
            ),
        ),
    ),
)
