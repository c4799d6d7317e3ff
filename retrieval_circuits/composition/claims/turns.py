"""Claims on numbers of hops taught in turn, with easier questions left behind or kept in."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, best_of
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, STEPS, at_least, at_most
from retrieval_circuits.composition import readings
from retrieval_circuits.composition.claims.shared import IS_ANSWERED, IS_GUESSED, QUERIES, best_score, final_score
from retrieval_circuits.composition.design import (
    ADDING,
    ALONE_DEEP,
    BACKWARDS,
    BY_POWERS,
    FORWARD,
    FOUR,
    STEPS_AN_EPOCH,
    Arm,
)
from retrieval_circuits.composition.published import DOUBLES, POLYNOMIAL

IS_LOST = at_most(0.75, "a quarter of the answers lost")
CONTROL_ADDED = (
    "The control that four hops come in some way was added after this had been judged without it, and refuted: a "
    "network in which they come in neither way counts as no sooner."
)


def some_way_answers(turned: Arm) -> Control:
    """What "no sooner" needs: that four hops come at all, by turns or from the mixture, in half of the networks."""
    best = (readings.best_accuracy(arm, 4) for arm in (turned, FOUR))
    return Control(
        reading=Reading(f"best accuracy at four hops, the better of {turned}, and {FOUR},", QUERIES, best_of(*best)),
        rule=Share(each=IS_ANSWERED),
        bound=at_least(0.5, "where four hops come in neither way, neither can be sooner"),
        spoils="no",
    )


TURNS = (
    Claim(
        id="KF4",
        says=Says(
            holds="Taught one, two, three, four hops in turn, networks of four layers learn four more often than not.",
            fails="Taught one, two, three, four hops in turn, networks of four layers mostly do not learn four.",
            whether="whether networks taught hop by hop learn four hops more often than not",
        ),
        reading=final_score(FORWARD, 4, "four hops"),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(Control(reading=final_score(ALONE_DEEP, 4, "four hops"), bound=IS_GUESSED),),
        source="source",
        source_verdict=f"Proved, for a network and a training of their design: {POLYNOMIAL}",
        source_stance="elsewhere",
    ),
    Claim(
        id="KF5",
        says=Says(
            holds="Taught one hop, then two, then four, networks of four layers learn four.",
            fails="Taught one hop, then two, then four, networks of four layers do not learn four.",
            whether="whether networks that are taught one hop, then two, then four learn four",
        ),
        reading=final_score(BY_POWERS, 4, "four hops"),
        bound=IS_ANSWERED,
        controls=(Control(reading=best_score(BY_POWERS, 2, "two hops"), bound=IS_ANSWERED),),
        source="source",
        source_verdict=DOUBLES,
        source_stance="elsewhere",
    ),
    Claim(
        id="KF6",
        says=Says(
            holds="Taught hop by hop, networks answer four hops sooner than from a mixture of as many rows, more often "
            "than not.",
            fails="Taught hop by hop, networks mostly answer four hops no sooner than from a mixture of as many rows.",
            whether="whether four hops are answered sooner hop by hop than from a mixture of as many rows",
        ),
        reading=Reading(
            f"time by which {FORWARD}, answer four hops before {FOUR},", STEPS, readings.sooner(FORWARD, FOUR, 4)
        ),
        rule=Share(each=at_least(2 * STEPS_AN_EPOCH, "two measurements; what is never answered counts as at the end")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(reading=final_score(FOUR, 2, "two hops"), bound=IS_ANSWERED),
            some_way_answers(FORWARD),
        ),
        declared="after",
        remark=CONTROL_ADDED,
    ),
    Claim(
        id="KF7",
        says=Says(
            holds="Taught the same rows from four hops down to one, networks never answer four.",
            fails="Taught the same rows from four hops down to one, networks do better than a guess at four.",
            whether="whether it is their order that keeps networks taught four hops first from answering four",
        ),
        reading=best_score(BACKWARDS, 4, "four hops"),
        bound=at_most(0.35, "ten points above a guess: the best of many checkpoints lies above one"),
        controls=(
            Control(reading=best_score(FORWARD, 4, "four hops"), bound=at_least(0.5, "twice a guess")),
            Control(reading=final_score(BACKWARDS, 1, "one hop"), bound=IS_ANSWERED),
        ),
    ),
    Claim(
        id="KF17",
        says=Says(
            holds="Taught in turn, networks forget: at the end one hop is no longer answered.",
            fails="Taught in turn, networks still answer one hop at the end.",
            whether="whether networks that are taught in turn forget one hop",
        ),
        reading=final_score(FORWARD, 1, "one hop"),
        bound=IS_LOST,
        controls=(
            Control(reading=best_score(FORWARD, 1, "one hop"), bound=IS_ANSWERED),
            Control(reading=final_score(FOUR, 1, "one hop"), bound=IS_ANSWERED),
        ),
    ),
)
KEEPING = (
    Claim(
        id="KF18",
        says=Says(
            holds="Taught one hop more a turn, easier questions kept in, networks of four layers learn four hops more "
            "often than not.",
            fails="Taught one hop more a turn, easier questions kept in, networks of four layers mostly do not learn "
            "four hops.",
            whether="whether networks learn four hops more often than not where turns keep easier questions in",
        ),
        reading=final_score(ADDING, 4, "four hops"),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(Control(reading=final_score(ALONE_DEEP, 4, "four hops"), bound=IS_GUESSED),),
        source="source",
        source_verdict=f"Proved, for a network and a training of their design: {POLYNOMIAL}",
        source_stance="elsewhere",
    ),
    Claim(
        id="KF19",
        says=Says(
            holds="With easier questions kept in, turns do not undo what was learnt: one hop is answered at the end.",
            fails="Even with easier questions kept in, one hop is no longer answered at the end.",
            whether="whether one hop is still answered at the end where turns keep easier questions in",
        ),
        reading=final_score(ADDING, 1, "one hop"),
        bound=IS_ANSWERED,
        controls=(Control(reading=final_score(FORWARD, 1, "one hop"), bound=IS_LOST),),
    ),
    Claim(
        id="KF20",
        says=Says(
            holds="Turns that keep easier questions in bring four hops sooner than a mixture of as many rows, more "
            "often than not.",
            fails="Turns that keep easier questions in mostly bring four hops no sooner than a mixture of as many "
            "rows.",
            whether="whether turns that keep easier questions in bring four hops sooner than a mixture of as many rows",
        ),
        reading=Reading(
            f"time by which {ADDING}, answer four hops before {FOUR},", STEPS, readings.sooner(ADDING, FOUR, 4)
        ),
        rule=Share(each=at_least(2 * STEPS_AN_EPOCH, "two measurements; what is never answered counts as at the end")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(reading=final_score(FOUR, 2, "two hops"), bound=IS_ANSWERED),
            some_way_answers(ADDING),
        ),
        declared="after",
        remark=CONTROL_ADDED,
    ),
)
