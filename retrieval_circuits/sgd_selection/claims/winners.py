"""Claims on what a fork is, on which of four equal heads comes to join values to their keys, and when it is settled."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.rules import Forced, Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, POINTS, STEPS, at_least, at_most, share_of
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.claims.counting import COUNTED_SINCE, LOOKS, OF_ORDERS, RECOUNTED
from retrieval_circuits.sgd_selection.design import ELSEWHERE, ORDERS
from retrieval_circuits.sgd_selection.readings import AHEAD

FORKS, CHECKPOINTS = map(share_of, ("forks", "checkpoints"))
FIRST, LATE = ORDERS[0], ORDERS[5]
"""Forks from the untrained network, and from the point that is two hundred steps before half of the joining."""
_when = partial(Reading, unit=STEPS, draws=OF_ORDERS)

CONTROL = (
    Claim(
        id="SS1",
        says=Says(
            holds="A fork that changes nothing is its parent, to the last bit.",
            fails="A fork that changes nothing is not its parent.",
            whether="whether a fork that changes nothing is its parent",
        ),
        reading=Reading(
            "share of its checkpoints whose weights are the parent's, bit by bit", CHECKPOINTS, readings.same_weights
        ),
        rule=Forced(),
        bound=at_least(1, "the same arithmetic on the same rows"),
        min_seeds=1,
    ),
    Claim(
        id="SS2",
        says=Says(
            holds="In this parent the look-up is learnt under nearly every order of the data that was tried.",
            fails="In this parent the look-up is not learnt in these steps under some orders of the data.",
            whether="whether in this parent the look-up is learnt whatever rows follow",
        ),
        reading=Reading(
            "share of an order's forks that read as well as asked", FORKS, readings.learnt(*ORDERS), draws=OF_ORDERS
        ),
        rule=Share(),
        bound=at_least(0.9, "all but a few"),
        declared="after",
        remark=f"{RECOUNTED} {LOOKS}",
    ),
    Claim(
        id="SS3",
        says=Says(
            holds="In forks of this parent the head that joins most is the one that is needed: its removal costs most "
            "of its layer.",
            fails="In forks of this parent the head that joins most is not the one whose removal costs most of its "
            "layer.",
            whether="whether in forks of this parent the head that joins most is the one that is needed",
        ),
        reading=Reading("share of an order's forks in which it is", FORKS, readings.removal_agrees, draws=OF_ORDERS),
        rule=Share(),
        bound=at_least(0.9, "all but a few; by chance a quarter"),
        declared="after",
        remark=f"{RECOUNTED} {LOOKS}",
    ),
)

WHEN = (
    Claim(
        id="SS4",
        says=Says(
            holds="In this parent it stays open for four hundred steps or more, on average, which head wins.",
            fails="In this parent it is settled within four hundred steps, on average, which head wins.",
            whether="whether in this parent it stays open for four hundred steps or more, on average, which head wins",
        ),
        reading=_when(
            "step from which on other rows leave the winner, dated where forks keep it,",
            values=readings.settling_step(),
        ),
        bound=at_least(400, "a quarter of the way to the parent's look-up; the form of a stream is learnt by then"),
        controls=(
            Control(
                reading=_when(
                    "the same, dated at the point of the forks before, where they do not keep it yet,",
                    values=readings.settling_step(earliest=True),
                ),
                bound=at_least(400, "it is not the distance between the points that makes it late"),
            ),
        ),
        declared="after",
        remark=f"{LOOKS} The control was added after the results: forks say between which points the winner is "
        "settled, not when. It could hardly hold: an order that keeps the winner by luck counts as settled where it "
        "leaves. Of forks from step four hundred, eleven of eighteen orders end with another head.",
    ),
    Claim(
        id="SS5",
        says=Says(
            holds="In this parent the winner is settled before it wins, two hundred steps or more before it joins half "
            "of the values.",
            fails="In this parent the winner is not settled two hundred steps before it joins half of the values.",
            whether="whether in this parent the winner is settled before it wins",
        ),
        reading=_when("steps from there to half of the parent's joining", values=readings.settled_ahead),
        bound=at_least(200, "two checkpoints of forks; the joining itself goes from a fifth to four fifths in as many"),
        remark=LOOKS,
    ),
    Claim(
        id="SS6",
        says=Says(
            holds="In this parent, two hundred steps before its winner joins half of the values, other rows hardly "
            "move the time of the look-up.",
            fails="In this parent, two hundred steps before its winner joins half of the values, other rows still "
            "move the time of the look-up.",
            whether="whether in this parent the time of the look-up is settled late",
        ),
        reading=_when("steps by which other rows from there on move it", values=readings.time_shift(LATE)),
        bound=at_most(100, "one checkpoint of forks"),
        controls=(
            Control(
                reading=_when("the same of orders from the start", values=readings.time_shift(FIRST)),
                bound=at_least(100, "the order of the data can move it"),
            ),
        ),
        remark=LOOKS,
    ),
)

# Declared on 2026-11-26, before any fork of a network other than the parent was measured.
OTHERS = (
    Claim(
        id="SS18",
        says=Says(
            holds="In nine networks starting weights do not settle the winner alone: other data often give another, or "
            "none.",
            fails="In nine networks starting weights mostly settle the winner: other data seldom give another.",
            whether="whether in nine networks the starting weights settle the winner alone",
        ),
        reading=Reading(
            "share of a network's forks from the start that keep its winner", FORKS, readings.keeping(ELSEWHERE[0])
        ),
        rule=Share(),
        bound=at_most(0.75, "one in four or more ends with another, or with none; settled, it were 1"),
        controls=(
            Control(
                reading=Reading(
                    "share of the ten networks in which the head that first joins half of the values is the winner in "
                    "the end",
                    share_of("networks"),
                    readings.leader_stays,
                ),
                rule=Share(),
                bound=at_least(0.9, "who wins stays the winner: another one is not just a later one"),
            ),
        ),
        declared="after",
        remark=COUNTED_SINCE,
    ),
    Claim(
        id="SS19",
        says=Says(
            holds="Starting weights narrow who wins: forks keep their own network's winner oftener than another's.",
            fails="Starting weights hardly narrow who wins: forks keep their own network's winner hardly oftener.",
            whether="whether starting weights narrow who wins",
        ),
        reading=Reading(
            "share of a network's forks from the start that keep its winner, less the same of another's,",
            POINTS,
            Less(readings.keeping(ELSEWHERE[0]), readings.keeping_anothers(ELSEWHERE[0])),
        ),
        bound=at_least(0.1, "ten points; nothing inherited gives 0, whichever heads win"),
    ),
    Claim(
        id="SS20",
        says=Says(
            holds="Most of these networks have settled their winner four hundred steps or more before it wins: three "
            "other orders of the data end with it, too.",
            fails="Most of these networks have not settled their winner when it is four hundred steps or more away.",
            whether="whether these networks have settled their winner four hundred steps before it wins",
        ),
        reading=Reading(
            f"whether all of a network's forks keep its winner that leave {AHEAD} steps before half of the joining, or "
            "earlier,",
            share_of("networks"),
            readings.keeping(ELSEWHERE[1], ahead=AHEAD),
        ),
        rule=Share(each=at_least(1, "all of them")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=Reading(
                    "the same of forks from the start", share_of("networks"), readings.keeping(ELSEWHERE[0])
                ),
                rule=Share(each=at_least(1, "all of them")),
                bound=at_most(0.75, "other data can change the winner at all"),
            ),
        ),
    ),
)
