"""Claims on numbers of hops taught in turn to networks of fewer layers than hops."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, best_of
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, STEPS, at_least
from retrieval_circuits.composition import readings
from retrieval_circuits.composition.claims.shared import (
    HALF_WAY,
    IS_ANSWERED,
    QUERIES,
    best_score,
    final_score,
)
from retrieval_circuits.composition.design import (
    DOUBLED_THREE,
    KEPT_THREE,
    KEPT_TWO,
    STEPS_AN_EPOCH,
    STEPWISE_THREE,
    THREE,
)
from retrieval_circuits.composition.published import DOUBLES

SHALLOW = (
    Claim(
        id="KF21",
        says=Says(
            holds="Taught hop by hop, networks of three layers do not learn four hops, for which doubling would be "
            "enough, easier questions kept in or not.",
            fails="Taught hop by hop, networks of three layers learn four hops, as doubling allows.",
            whether="whether taught hop by hop three layers get no more than half of four hops right, on average",
        ),
        reading=Reading(
            "final accuracy at four hops of three layers taught hop by hop, the better of easier questions kept in "
            "or not,",
            QUERIES,
            best_of(readings.final_accuracy(STEPWISE_THREE, 4), readings.final_accuracy(KEPT_THREE, 4)),
        ),
        bound=HALF_WAY,
        controls=(Control(reading=best_score(KEPT_THREE, 3, "three hops"), bound=IS_ANSWERED),),
    ),
    Claim(
        id="KF22",
        says=Says(
            holds="Taught one hop, then two, then four, networks of three layers learn four.",
            fails="Taught one hop, then two, then four, networks of three layers do not learn four.",
            whether="whether networks of three layers that are taught one hop, then two, then four learn four",
        ),
        reading=final_score(DOUBLED_THREE, 4, "four hops"),
        bound=IS_ANSWERED,
        controls=(Control(reading=best_score(DOUBLED_THREE, 2, "two hops"), bound=IS_ANSWERED),),
        source="source",
        source_verdict=DOUBLES,
        source_stance="elsewhere",
    ),
    Claim(
        id="KF23",
        says=Says(
            holds="Taught one hop more a turn, easier questions kept in, networks of two layers do not learn three "
            "hops, for which doubling would be enough.",
            fails="Taught one hop more a turn, easier questions kept in, networks of two layers get {effect} of "
            "queries of three hops right, on average.",
            whether="whether networks of two layers learn three hops where turns keep easier questions in",
        ),
        reading=final_score(KEPT_TWO, 3, "three hops"),
        bound=HALF_WAY,
        controls=(Control(reading=final_score(KEPT_TWO, 2, "two hops"), bound=IS_ANSWERED),),
    ),
    Claim(
        id="KF24",
        says=Says(
            holds="With three layers, turns that keep easier questions in bring three hops sooner than a mixture of as "
            "many rows, more often than not.",
            fails="With three layers, turns that keep easier questions in mostly bring three hops no sooner than a "
            "mixture of as many rows.",
            whether="whether with three layers turns that keep easier questions in bring three hops sooner than a "
            "mixture of as many rows",
        ),
        reading=Reading(
            f"time by which {KEPT_THREE}, answer three hops before {THREE},",
            STEPS,
            readings.sooner(KEPT_THREE, THREE, 3),
        ),
        rule=Share(each=at_least(2 * STEPS_AN_EPOCH, "two measurements; what is never answered counts as at the end")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(Control(reading=final_score(THREE, 2, "two hops"), bound=IS_ANSWERED),),
        remark="Looked at twice: twelve networks had left it open, and ten were added for that reason. Corrected for "
        "two looks it stands.",
    ),
)
