"""Claims on heads: whether two layers of more heads make more hops, and how; whether more or narrower ones."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.units import POINTS, at_least, at_most
from retrieval_circuits.composition.claims.longer import SO_LONG, learn
from retrieval_circuits.composition.claims.shared import IS_ANSWERED, NUMBER_OF_HOPS, final_score
from retrieval_circuits.composition.design import (
    EIGHT_NARROW,
    EIGHT_WIDE,
    FEW_HEADS,
    FEW_HEADS_THREE,
    FOUR_NARROW,
    FOUR_WIDE,
    HOPS,
    MANY_HEADS,
    Arm,
)
from retrieval_circuits.composition.readings import mean_accuracy, most_hops, shared_out, where_answered


def _shared_out(words: str, kind: str) -> Reading:
    """Of networks with eight heads that answer four hops: what telling queries apart by a kind says of their heads."""
    return Reading(words, POINTS, where_answered(shared_out(MANY_HEADS, 4, kind), MANY_HEADS, 4))


HEADS = (
    learn("KF32", MANY_HEADS, 4),
    Claim(
        id="KF33",
        says=Says(
            holds=f"Of networks of two layers, {SO_LONG}, those with eight heads answer at least one hop more than "
            "those with two heads, on average, with as many weights.",
            fails=f"Of networks of two layers, {SO_LONG}, those with eight heads answer less than one hop more than "
            "those with two heads, on average.",
            whether="whether eight heads instead of two, with as many weights, are worth a hop or more to two layers",
        ),
        reading=Reading(
            "hops answered with eight heads, less those with two,",
            NUMBER_OF_HOPS,
            Less(most_hops(MANY_HEADS), most_hops(FEW_HEADS)),
        ),
        bound=at_least(1, "what a layer is worth where each makes one hop; four hops are asked for at most"),
        controls=(
            Control(reading=final_score(FEW_HEADS, 2, "two hops"), bound=IS_ANSWERED),
        ),
    ),
    Claim(
        id="KF34",
        says=Says(
            holds="In networks of two layers with eight heads that answer four hops, queries of different last hops "
            "need different heads of the second layer, on average.",
            fails="In networks of two layers with eight heads that answer four hops, which head of the second layer a "
            "query needs hardly depends on its last hop.",
            whether="whether in two layers of eight heads that answer four hops queries of different last hops need "
            "different heads",
        ),
        reading=_shared_out(
            "cost of the head that queries of one last hop need most, less that of the head that all need most,",
            "hop_4",
        ),
        bound=at_least(0.1, "one query in ten"),
        controls=(
            Control(
                reading=_shared_out("the same by the first hop", "hop_1"),
                bound=at_most(0.05, "one in twenty: what heads share out has nothing to do with the first hop"),
            ),
        ),
    ),
    learn("KF35", FEW_HEADS_THREE, 4),
)  # fmt: skip

ONE_IN_TWENTY = at_least(0.05, "one query in twenty")
TWO_HOPS_FOUR_WIDE = Control(reading=final_score(FOUR_WIDE, 2, "two hops"), bound=IS_ANSWERED)


def _right(words: str, some: tuple[Arm, ...], others: tuple[Arm, ...]) -> Reading:
    """Queries of four hops answered right, the mean over some arms less that over others, seed by seed."""
    less = Less(mean_accuracy(HOPS, *some), mean_accuracy(HOPS, *others))
    return Reading(f"queries of four hops right {words},", POINTS, less)


MORE_HEADS = _right(
    "with eight heads, less those with four heads as wide", (EIGHT_NARROW, EIGHT_WIDE), (FOUR_NARROW, FOUR_WIDE)
)
WIDTHS = (
    Claim(
        id="KF36",
        says=Says(
            holds=f"Of networks of two layers, {SO_LONG}, those with eight narrow heads get more queries of four hops "
            "right than those with four heads twice as wide, which have as many weights, on average.",
            fails=f"Of networks of two layers, {SO_LONG}, those with eight narrow heads hardly get more queries of "
            "four hops right than those with four heads twice as wide, on average.",
            whether="whether two layers of eight narrow heads get more queries of four hops right than two of four "
            "heads twice as wide",
        ),
        reading=_right("with eight narrow heads, less those with four wide ones", (EIGHT_NARROW,), (FOUR_WIDE,)),
        bound=ONE_IN_TWENTY,
        controls=(TWO_HOPS_FOUR_WIDE,),
    ),
    Claim(
        id="KF37",
        says=Says(
            holds=f"Two layers, {SO_LONG}, get more queries of four hops right with eight heads than with four heads "
            "of the same width, on average.",
            fails=f"Two layers, {SO_LONG}, hardly get more queries of four hops right with eight heads than with four "
            "heads of the same width, on average.",
            whether="whether two layers get more queries of four hops right with eight heads than with four heads of "
            "the same width",
        ),
        reading=MORE_HEADS,
        bound=ONE_IN_TWENTY,
        controls=(TWO_HOPS_FOUR_WIDE,),
    ),
    Claim(
        id="KF38",
        says=Says(
            holds=f"Two layers, {SO_LONG}, do not get more queries of four hops right with heads twice as wide, as "
            "many in number, by one in ten or more, on average.",
            fails=f"Two layers, {SO_LONG}, get more queries of four hops right with heads twice as wide, as many in "
            "number, by one in ten or more, on average.",
            whether="whether heads twice as wide, as many in number, get two layers more queries of four hops right, "
            "by one in ten or more",
        ),
        reading=_right(
            "with wide heads, less those with as many narrow ones", (FOUR_WIDE, EIGHT_WIDE), (FOUR_NARROW, EIGHT_NARROW)
        ),
        bound=at_most(0.1, "one query in ten"),
        # Where nothing helps, width does not help either: a number of heads that does shows that something could.
        controls=(Control(reading=MORE_HEADS, bound=ONE_IN_TWENTY),),
    ),
)
