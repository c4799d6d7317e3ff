"""Claims on which of four equal heads comes to join values to their keys, when that is settled, and by what."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading, at_end
from livingpaper.claims.rules import Forced, Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, NUMBER, POINTS, STEPS, Unit, at_least, at_most, share_of
from retrieval_circuits.sgd_selection import readings
from retrieval_circuits.sgd_selection.design import ACT, ELSEWHERE, FROZEN, HELD, ORDERS
from retrieval_circuits.sgd_selection.readings import AHEAD, LATEST

FORKS, HEADS, CHECKPOINTS, READS = map(share_of, ("forks", "heads", "checkpoints", "reads"))
FIRST, LATE = ORDERS[0], ORDERS[5]
"""Forks from the untrained network, and from the point that is two hundred steps before half of the joining."""
GROWTH = Unit(name="%", of="the growth", times=100)
_when = partial(Reading, unit=STEPS)

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
            holds="In this parent the look-up is learnt under every order of the data that was tried.",
            fails="In this parent the look-up is not learnt in these steps under some orders of the data.",
            whether="whether in this parent the look-up is learnt whatever rows follow",
        ),
        reading=Reading("share of an order's forks that read as well as asked", FORKS, readings.learnt(*ORDERS)),
        bound=at_least(0.9, "all but a few"),
    ),
    Claim(
        id="SS3",
        says=Says(
            holds="The head that joins most is the one that is needed: its removal costs most of its layer.",
            fails="The head that joins most is not the one whose removal costs most of its layer.",
            whether="whether the head that joins most is the one that is needed",
        ),
        reading=Reading("share of an order's forks in which it is", FORKS, readings.removal_agrees),
        bound=at_least(0.9, "all but a few; by chance a quarter"),
    ),
)

WHEN = (
    Claim(
        id="SS4",
        says=Says(
            holds="Which head wins is not settled by the weights that training starts from.",
            fails="Which head wins is settled by the weights that training starts from, or soon after.",
            whether="whether the starting weights settle which head wins",
        ),
        reading=_when("step from which on other rows leave the winner", values=readings.settling_step),
        bound=at_least(400, "a quarter of the way to the parent's look-up; the form of a stream is learnt by then"),
    ),
    Claim(
        id="SS5",
        says=Says(
            holds="The winner is settled before it wins, two hundred steps or more before it joins half of the values.",
            fails="The winner is not settled two hundred steps before it joins half of the values.",
            whether="whether the winner is settled before it wins",
        ),
        reading=_when("steps from there to half of the parent's joining", values=readings.settled_ahead),
        bound=at_least(200, "two checkpoints of forks; the joining itself goes from a fifth to four fifths in as many"),
    ),
    Claim(
        id="SS6",
        says=Says(
            holds="Two hundred steps before, other rows hardly move the time of the look-up.",
            fails="Two hundred steps before, other rows still move the time of the look-up.",
            whether="whether the time of the look-up is settled late",
        ),
        reading=_when("steps by which other rows from there on move it", values=readings.time_shift(LATE)),
        bound=at_most(100, "one checkpoint of forks"),
        controls=(
            Control(
                reading=_when("the same of orders from the start", values=readings.time_shift(FIRST)),
                bound=at_least(100, "the order of the data can move it"),
            ),
        ),
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
        bound=at_most(0.75, "one in four or more ends with another, or with none; settled, it were 1"),
        controls=(
            Control(
                reading=Reading(
                    "share of the ten networks in which the head that joins most at first is the winner in the end",
                    share_of("networks"),
                    readings.leader_stays,
                ),
                bound=at_least(0.9, "who wins stays the winner: another one is not just a later one"),
            ),
        ),
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
            holds="Most of these networks have settled their winner four hundred steps or more before it wins.",
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

ACTS = (
    Claim(
        id="SS7",
        says=Says(
            holds="Here a head whose updates are boosted wins more often than not.",
            fails="Here a head whose updates are boosted does not win more often than not.",
            whether="whether boosting a head makes it win",
        ),
        reading=Reading("share of the four heads that win when they are boosted", HEADS, readings.boosted_wins),
        bound=at_least(0.5, "twice what chance gives: of four forks that boost nothing one has each head's winner"),
    ),
    Claim(
        id="SS8",
        says=Says(
            holds="The role does not hang on its address here: silence any one head, and the look-up is learnt.",
            fails="The role hangs on its address here: silence one head, and the look-up is not always learnt.",
            whether="whether the role finds another head",
        ),
        reading=Reading(
            "share of the four heads without which it is learnt",
            HEADS,
            readings.learnt(*HELD),
        ),
        bound=at_least(0.9, "more than the three that are not the winner"),
    ),
    Claim(
        id="SS9",
        says=Says(
            holds="Another head takes longer: without the one that would win the look-up comes later.",
            fails="Another head does not take longer than the one that would have won.",
            whether="whether the look-up comes later without the winner",
        ),
        reading=_when(
            "steps by which half of the reads are right later without it", values=readings.late_without_winner
        ),
        bound=at_least(100, "one checkpoint of forks"),
        controls=(
            Control(
                reading=_when("the same without another head", values=readings.late_without_another),
                bound=at_most(100, "it is the winner that is missed, not any head"),
            ),
        ),
    ),
    Claim(
        id="SS10",
        says=Says(
            holds="In one network, freeze the matrices of queries and keys before the transition, and most reads are "
            "not learnt.",
            fails="In one network, freeze the matrices of queries and keys before the transition: most reads are "
            "learnt all the same.",
            whether="whether in one network the look-up is learnt with queries and keys frozen",
        ),
        reading=Reading("share of reads answered right at the end", READS, at_end("accuracy", FROZEN)),
        bound=at_most(0.5, "more reads wrong than right"),
        controls=(
            Control(
                reading=Reading(
                    "the same with nothing frozen, from the same step", READS, at_end("accuracy", ORDERS[ACT])
                ),
                bound=at_least(0.9, "there is time enough"),
            ),
        ),
    ),
    Claim(
        id="SS11",
        says=Says(
            holds="And yet with them frozen attention moves to the value that is asked for.",
            fails="With them frozen attention hardly moves to the value that is asked for.",
            whether="whether attention moves with queries and keys frozen",
        ),
        reading=Reading("gain of the largest attention to the value asked for", POINTS, readings.looks_gained),
        bound=at_least(0.1, "ten points of attention: nearly what heads had at the fork"),
    ),
)

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
            fails="The push tells no more than the score: what heads join already names the winner as often.",
            whether="whether the push names the winner better than the score",
        ),
        reading=Reading(
            "share of checkpoints at which the push names the winner, less that of the score,",
            POINTS,
            Less(readings.ranked_first("push"), readings.ranked_first("joins")),
        ),
        bound=at_least(0.1, "ten points of the thousand steps before"),
    ),
    Claim(
        id="SS14",
        says=Says(
            holds="The gradient of one moment tells which head gains most over the next hundred steps.",
            fails="The gradient of one moment seldom tells which head gains most over the next hundred steps.",
            whether="whether the head that is pushed most gains most",
        ),
        reading=Reading(
            "share of checkpoints at which the head that is pushed most gains most in the next hundred steps",
            CHECKPOINTS,
            readings.selection_law,
        ),
        bound=at_least(0.5, "twice chance, which is a quarter"),
    ),
)

UPDATES = (
    Claim(
        id="SS15",
        says=Says(
            holds="At Adam's rate the raw gradient explains next to none of the winner's growth.",
            fails="At Adam's rate the raw gradient explains a good part of the winner's growth.",
            whether="whether the raw gradient explains the winner's growth",
        ),
        reading=Reading("share of the growth that the raw gradient has", GROWTH, readings.share_of_growth("raw")),
        bound=at_most(0.05, "the source has less than one in a hundred"),
        source="source",
        source_verdict="Supported",
    ),
    Claim(
        id="SS16",
        says=Says(
            holds="That is its length, not its direction: made as long as Adam's updates, it explains half or more.",
            fails="It is not its length alone: made as long as Adam's updates, it explains less than half.",
            whether="whether the raw gradient is too small or points elsewhere",
        ),
        reading=Reading(
            "share that it has at the length of the updates", GROWTH, readings.share_of_growth("raw_at_length")
        ),
        bound=at_least(0.5, "as good a direction as Adam's but for a factor of two"),
    ),
    Claim(
        id="SS17",
        says=Says(
            holds="Gradients of the last twenty updates do most of what the current one does for the winner.",
            fails="Gradients of the last twenty updates do less than half of what the current one does for the winner.",
            whether="whether old gradients push the winner as new ones do",
        ),
        reading=Reading(
            "what gradients of the last twenty updates do, by what the current one does,",
            NUMBER,
            readings.older_gradients,
        ),
        bound=at_least(0.5, "half of it; if shares went by weight alone it were 1"),
    ),
)

CLAIMS = (*CONTROL, *WHEN, *OTHERS, *ACTS, *PREDICTION, *UPDATES)
