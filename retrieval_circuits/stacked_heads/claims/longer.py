"""Claims on three layers that are trained on, on chains of three: whether what they lack is time, and what they need.

SH60 and SH61 were written before any network was trained for so long. The networks had been seen at a quarter of it:
of the twenty of that arm eight learnt three look-ups, and all eight had a head that looks from the second answer to the
third; of the twelve that are trained on, the first twelve by their seeds, five did. There was no pilot, and no network
of three layers had been asked what it makes without a look.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, at_most
from retrieval_circuits.stacked_heads.claims.bounds import ERROR, ERROR_MORE, IS_LEARNT, NOT_LEARNT
from retrieval_circuits.stacked_heads.design import LONG_SCARCE
from retrieval_circuits.stacked_heads.readings import final_loss, where
from retrieval_circuits.stacked_heads.readings.needed import error_without, unlooked_rise
from retrieval_circuits.stacked_heads.readings.three import AHEAD

THESE = "3 layers, four times as long"


def _without(place: int, symbol: str, *link: str, between: str) -> Reading:
    """Error of a symbol in networks that learnt all three, one head's look along a link forbidden."""
    return Reading(
        f"squared error of the {symbol} symbol, {THESE}, of networks that have learnt the third, with the look from "
        f"{between} forbidden that this symbol needs most,",
        ERROR,
        where(LONG_SCARCE, error_without(LONG_SCARCE, link, place)),
    )


def _final(place: int, symbol: str) -> Reading:
    return Reading(f"final error of the {symbol} symbol of three, {THESE},", ERROR, final_loss(LONG_SCARCE, place))


FROM_SECOND = AHEAD[-1]
TRAINED_ON = (
    Claim(
        id="SH60",
        says=Says(
            holds="Trained four times as long, networks of three layers learn three look-ups more often than not.",
            fails="Even trained four times as long, networks of three layers mostly do not learn three look-ups.",
            whether="whether three layers learn three look-ups more often than not where they are trained four times "
            "as long",
        ),
        reading=_final(3, "third"),
        rule=Share(each=IS_LEARNT),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(Control(reading=_final(2, "second"), bound=IS_LEARNT, spoils="no"),),
        remark="Its twelve networks, trained on, are the first of twenty that had been seen at a quarter of their "
        "training; five of these twelve had learnt three look-ups by then.",
    ),
    Claim(
        id="SH61",
        says=Says(
            holds="Most networks of three layers that, trained four times as long, learn three look-ups lose the third "
            "answer without one head's look from the second answer to it, as doubling has it.",
            fails="Most networks of three layers that, trained four times as long, learn three look-ups keep the third "
            "answer whichever head may not look from the second answer to it.",
            whether="whether three layers that, trained four times as long, learn three look-ups need a head's look "
            "from the second answer to the third",
        ),
        reading=_without(3, "third", *FROM_SECOND, between="second answer to third"),
        rule=Share(each=NOT_LEARNT),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(reading=_without(2, "second", *FROM_SECOND, between="second answer to third"), bound=IS_LEARNT),
            Control(
                reading=_without(3, "third", "queries", "value_2", between="query to third answer"),
                rule=Share(each=NOT_LEARNT),
                bound=at_most(0.5, "else they need the hop as well"),
                spoils="yes",
            ),
            Control(
                reading=Reading(
                    f"how much more error comes of forbidding a look that a head hardly makes, {THESE}, on average",
                    ERROR_MORE,
                    unlooked_rise(LONG_SCARCE),
                ),
                bound=at_most(0.01, "to forbid a look is no harm in itself"),
            ),
        ),
        remark="In none of these networks does a head of the query look at the third answer with half of its "
        "attention, so that the second control had nothing to forbid.",
    ),
)
