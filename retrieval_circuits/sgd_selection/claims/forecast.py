"""Claims on what predicts the winner, and on what its growth is made of."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, NUMBER, POINTS, Unit, at_least, at_most, share_of
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.claims.counting import LOOKS, OF_ORDERS
from retrieval_circuits.sgd_selection.design import NETWORKS
from retrieval_circuits.sgd_selection.readings import LATEST

CHECKPOINTS = share_of("checkpoints")
GROWTH = Unit(name="%", of="the growth", times=100, digits=1)
TEN_POINTS = at_least(0.1, "ten points of the thousand steps before")
_of_orders = partial(Reading, draws=OF_ORDERS)


def _beyond_the_score(forecast: str, metric: str) -> Reading:
    """How much oftener a forecast names the winner than what heads join already."""
    less = Less(readings.ranked_first(metric), readings.ranked_first("joins"))
    return Reading(f"share of checkpoints at which {forecast} names the winner, less that of the score,", POINTS, less)


PREDICTION = (
    Claim(
        id="SS12",
        says=Says(
            holds="Three hundred steps before, the loss mostly pushes the later winner more than its rivals.",
            fails="Three hundred steps before, the loss mostly pushes another head more than the later winner.",
            whether="whether the loss pushes the later winner most",
        ),
        reading=Reading(
            f"whether the push on the later winner is the largest {LATEST} steps before half of the joining",
            share_of("networks"),
            readings.ranked_first_at("push"),
        ),
        rule=Share(each=at_least(1, "it is")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=Reading(
                    "the same before the first step", share_of("networks"), readings.ranked_first_at("push", None)
                ),
                rule=Share(each=at_least(1, "it is")),
                bound=at_most(0.75, "chance is a quarter: not every measure finds the winner at any time"),
            ),
        ),
    ),
    Claim(
        id="SS13",
        says=Says(
            holds="The push tells more than the score: it names the winner oftener than what heads join already.",
            fails="The push tells no more than the score: what heads join already names the winner as often, or "
            "oftener.",
            whether="whether the push names the winner better than the score",
        ),
        reading=_beyond_the_score("the push", "push"),
        bound=TEN_POINTS,
    ),
    Claim(
        id="SS37",
        says=Says(
            holds="The direction of the gradient alone tells more than the score: alignment names the winner oftener "
            "than what heads join already.",
            fails="The direction of the gradient alone tells no more than the score: what heads join already names "
            "the winner as often as alignment does, or oftener.",
            whether="whether alignment names the winner better than the score",
        ),
        reading=_beyond_the_score("alignment", "aligned"),
        bound=TEN_POINTS,
        declared="after",
        remark="Declared when SS13 was known, before alignment was looked at: the push is alignment times two lengths, "
        "of which one differs from head to head.",
    ),
    Claim(
        id="SS14",
        says=Says(
            holds="Over all of training before the winner wins, the gradient at one step mostly tells which head "
            "gains most over the next hundred steps.",
            fails="Over all of training before the winner wins, the gradient at one step mostly does not tell which "
            "head gains most over the next hundred steps.",
            whether="whether the head that is pushed most gains most",
        ),
        reading=Reading(
            "share of checkpoints at which the head that is pushed most gains most in the next hundred steps",
            CHECKPOINTS,
            readings.selection_law(NETWORKS),
        ),
        bound=at_least(0.5, "twice chance, which is a quarter"),
        remark="At three checkpoints of four no head gains as much as a point. In the last two hundred steps before "
        "the winner joins half the push is right at eleven of twenty, which would be open, and the head that joins "
        "most already at all. That the sentence names the time was added after the result.",
    ),
)

UPDATES = (
    Claim(
        id="SS15",
        says=Says(
            holds="In one network the raw gradient at Adam's rate explains next to none of the winner's growth.",
            fails="In one network the raw gradient at Adam's rate explains a good part of the winner's growth.",
            whether="whether the raw gradient explains the winner's growth",
        ),
        reading=_of_orders("share of the growth that the raw gradient has", GROWTH, readings.share_of_growth("raw")),
        bound=at_most(0.05, "the source has less than one in a hundred"),
        source="source",
        source_verdict="Supported",
        remark=f"{LOOKS} It could hardly have failed: at this rate the gradient has less than a hundredth of the "
        "update's length. The next claim asks of its direction.",
    ),
    Claim(
        id="SS16",
        says=Says(
            holds="There that is its length, not its direction: made as long as Adam's updates, it explains half or "
            "more.",
            fails="There it is not its length alone: made as long as Adam's updates, it explains less than half.",
            whether="whether the raw gradient is too small or points elsewhere",
        ),
        reading=_of_orders(
            "share that it has at the length of the updates", GROWTH, readings.share_of_growth("raw_at_length")
        ),
        bound=at_least(0.5, "as good a direction as Adam's but for a factor of two"),
        remark=LOOKS,
    ),
    Claim(
        id="SS17",
        says=Says(
            holds="Weight for weight, gradients of the last twenty updates do most of what the current one does for "
            "the winner.",
            fails="Weight for weight, gradients of the last twenty updates do less than half of what the current one "
            "does for the winner.",
            whether="whether old gradients push the winner as new ones do",
        ),
        reading=_of_orders(
            "what gradients of the last twenty updates do at equal weight, by what the current one does,",
            NUMBER,
            readings.older_gradients,
        ),
        bound=at_least(0.5, "half of it; if shares went by weight alone it were 1"),
        remark=LOOKS,
    ),
)
