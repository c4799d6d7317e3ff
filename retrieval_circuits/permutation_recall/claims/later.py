"""Claims on the models of the source's later notebook, and on the scan over symbols and widths."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading, Values, at_end
from livingpaper.claims.units import DOUBLINGS, Unit, at_least, at_most
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT
from retrieval_circuits.permutation_recall.claims.networks import PROBES
from retrieval_circuits.permutation_recall.design import ANY_SOURCE, ONLY_FIRST, WIDTHS
from retrieval_circuits.permutation_recall.readings import parts, sizes
from retrieval_circuits.permutation_recall.readings.models import LEARNT

ONE_SPLIT = "All of these networks have the source's split: the interval is over starts, of one draw of it."


def _later_places(arm: str, words: str) -> Reading:
    """These networks all have the source's split."""
    return Reading(words, PROBES, partial(parts.later_sources, arm=arm), arms=(arm,))


def _scanned(words: str, values: Values, unit: Unit) -> Reading:
    return Reading(words, unit, values, arms=tuple(map(str, WIDTHS)))


LATER = (
    Claim(
        id="PR22",
        says=Says(
            holds="Trained on repeats of the first x alone, the model does not recall the others.",
            fails="Trained on repeats of the first x alone, the model recalls the others on {effect} of probes.",
            whether="whether a model trained on repeats of the first x alone recalls the others",
        ),
        reading=_later_places(
            ONLY_FIRST,
            "share of probes that repeat the second to fourth x answered with the y that was shown (d 32, 2 heads, "
            "repeats of the first x alone)",
        ),
        bound=at_most(0.05, "one probe in twenty; a guess among the y shown scores 1/4"),
        controls=(
            Control(
                reading=_later_places(ANY_SOURCE, "the same of this model trained on repeats of any x"),
                bound=MORE_OFTEN_THAN_NOT,
                spoils="yes",
            ),
            Control(
                reading=Reading(
                    "share of probes that repeat the first x answered with the y that was shown, of the same networks",
                    PROBES,
                    at_end("recall", ONLY_FIRST, variable="source 1"),
                ),
                bound=MORE_OFTEN_THAN_NOT,
                spoils="yes",
            ),
        ),
        source="source",
        source_verdict="Measured later: 0 of 600 probes of one network",
        remark=f"{ONE_SPLIT} The second control was added after the result, on 2026-11-29: networks that do not recall "
        "what they are asked for say nothing of what such training teaches.",
    ),
    Claim(
        id="PR23",
        says=Says(
            holds="Without its FFN the model of the later notebook does not recall.",
            fails="Without its FFN the model of the later notebook recalls, on {effect} of probes.",
            whether="whether the model of the later notebook recalls without its FFN",
        ),
        reading=Reading(
            "recall with the FFN's output zeroed (d 32, 2 heads, repeats in half of the rows, at the last epoch)",
            PROBES,
            at_end("recall_under", ANY_SOURCE, site="L0MLP", edit="zero"),
        ),
        bound=at_most(0.1, "hardly ever; the source's network keeps 3 %"),
        controls=(
            Control(
                reading=Reading(
                    "recall of the same networks, whole", PROBES, at_end("recall", ANY_SOURCE, variable="")
                ),
                bound=at_least(LEARNT, "nearly all probes: what is not there cannot be lost"),
                spoils="yes",
            ),
        ),
        source="source",
        source_verdict="Measured later: 93.4 % with, 3.0 % without, one network",
        remark=ONE_SPLIT,
    ),
    Claim(
        id="PR24",
        says=Says(
            holds="The width that recall needs grows faster with the number of symbols with one layer than with two.",
            fails="With one layer the width that recall needs does not grow faster with the number of symbols than "
            "with two.",
            whether="whether the width that recall needs grows faster with the number of symbols with one layer than "
            "with two",
        ),
        reading=_scanned(
            "growth from V 4 to V 7 of the smallest width that recalls 0.9: that with one layer less that with two",
            Less(partial(sizes.width_growth, n_layers=1), partial(sizes.width_growth, n_layers=2)),
            DOUBLINGS,
        ),
        bound=at_least(0.5, "half a doubling of the width"),
        controls=(
            Control(
                reading=_scanned(
                    "least recall over V 4 to V 7 with two layers of the best width for each",
                    sizes.recall_of_two_layers,
                    PROBES,
                ),
                bound=at_least(LEARNT, "where no width recalls there is no smallest one"),
                spoils="either",
            ),
        ),
    ),
)
