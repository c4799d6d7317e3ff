"""Claims on heads: whether two layers of more heads, with as many weights, make more hops, and how."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, POINTS, at_least, at_most
from retrieval_circuits.composition.claims.longer import SO_LONG
from retrieval_circuits.composition.claims.shared import IS_ANSWERED, NUMBER_OF_HOPS, final_score
from retrieval_circuits.composition.design import FEW_HEADS, FEW_HEADS_THREE, MANY_HEADS
from retrieval_circuits.composition.published import DOUBLES
from retrieval_circuits.composition.readings import more_hops, shared_out, where_answered


def _shared_out(words: str, hop: int) -> Reading:
    """Of networks with eight heads that answer four hops: how much more the head costs that a kind of hop needs."""
    return Reading(words, POINTS, where_answered(shared_out(MANY_HEADS, 4, hop), MANY_HEADS, 4))


HEADS = (
    Claim(
        id="KF32",
        says=Says(
            holds=f"From a mixture, {SO_LONG}, networks of two layers with eight narrow heads learn four hops more "
            "often than not.",
            fails=f"From a mixture, even {SO_LONG}, networks of two layers with eight narrow heads mostly do not learn "
            "four hops.",
            whether=f"whether two layers of eight narrow heads learn four hops more often than not where they are "
            f"{SO_LONG}",
        ),
        reading=final_score(MANY_HEADS, 4, "four hops"),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(reading=final_score(MANY_HEADS, 3, "three hops"), bound=IS_ANSWERED, spoils="no"),
        ),
        source="source",
        source_verdict=DOUBLES,
        source_stance="elsewhere",
    ),
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
            "hops answered with eight heads, less those with two,", NUMBER_OF_HOPS, more_hops(MANY_HEADS, FEW_HEADS)
        ),
        bound=at_least(1, "what a layer is worth where each makes one hop"),
        controls=(
            Control(reading=final_score(FEW_HEADS, 1, "one hop"), bound=IS_ANSWERED),
        ),
    ),
    Claim(
        id="KF35",
        says=Says(
            holds=f"From a mixture, {SO_LONG}, networks of three layers with two wide heads learn four hops more often "
            "than not.",
            fails=f"From a mixture, even {SO_LONG}, networks of three layers with two wide heads mostly do not learn "
            "four hops.",
            whether=f"whether three layers of two wide heads learn four hops more often than not where they are "
            f"{SO_LONG}",
        ),
        reading=final_score(FEW_HEADS_THREE, 4, "four hops"),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(reading=final_score(FEW_HEADS_THREE, 2, "two hops"), bound=IS_ANSWERED, spoils="no"),
        ),
        source="source",
        source_verdict=DOUBLES,
        source_stance="elsewhere",
    ),
    Claim(
        id="KF34",
        says=Says(
            holds="In networks of two layers with eight heads that answer four hops, heads of the second layer share "
            "out the last hop: its kinds each need a head more than the others, on average.",
            fails="In networks of two layers with eight heads that answer four hops, heads of the second layer do not "
            "share out the last hop by its kinds.",
            whether="whether in two layers of eight heads that answer four hops those of the second layer share out "
            "the last hop",
        ),
        reading=_shared_out("cost of the head that a last hop needs most, less that of another head,", 4),
        bound=at_least(0.3, "of ten queries with one last hop, three more need that head than another"),
        controls=(
            Control(
                reading=_shared_out("the same by kinds of the first hop", 1),
                bound=at_most(0.3, "heads that are all needed, or one that is, would be read so by any hop"),
            ),
        ),
    ),
)  # fmt: skip
