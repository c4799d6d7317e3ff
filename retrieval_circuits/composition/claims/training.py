"""Claims on what must be asked for: four hops alone, mixtures."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT
from retrieval_circuits.composition.claims.shared import IS_ANSWERED, IS_GUESSED, final_score
from retrieval_circuits.composition.design import ALONE, FOLLOWED, N_LAYERS, POWERS, Arm
from retrieval_circuits.composition.published import DOUBLES, EXPONENTIAL, POLYNOMIAL

IN_POWERS = Arm(POWERS, N_LAYERS)
DATA = (
    Claim(
        id="KF1",
        says=Says(
            holds="Asked for four hops alone, networks answer no better than a guess.",
            fails="Asked for four hops alone, networks do better than a guess.",
            whether="whether networks that are asked for four hops alone do better than a guess",
        ),
        reading=final_score(ALONE, 4, "four hops"),
        bound=IS_GUESSED,
        controls=(Control(reading=final_score(FOLLOWED, 2, "two hops"), bound=IS_ANSWERED),),
        source="source",
        source_verdict=f"Proved for learners by statistical queries: {EXPONENTIAL}",
        source_stance="elsewhere",
    ),
    Claim(
        id="KF2",
        says=Says(
            holds="Where one to four hops are mixed, three hops are learnt more often than not.",
            fails="Where one to four hops are mixed, three hops are mostly not learnt in the steps given.",
            whether="whether three hops are learnt from a mixture more often than not",
        ),
        reading=final_score(FOLLOWED, 3, "three hops"),
        rule=Share(each=IS_ANSWERED),
        bound=MORE_OFTEN_THAN_NOT,
        source="source",
        source_verdict=f"Proved, for a network and a training of their design: {POLYNOMIAL}",
        source_stance="elsewhere",
    ),
    Claim(
        id="KF3",
        says=Says(
            holds="Where one, two and four hops are mixed, networks of three layers learn four.",
            fails="Where one, two and four hops are mixed, networks of three layers do not learn four.",
            whether="whether networks of three layers learn four hops from powers of two",
        ),
        reading=final_score(IN_POWERS, 4, "four hops"),
        bound=IS_ANSWERED,
        controls=(Control(reading=final_score(IN_POWERS, 2, "two hops"), bound=IS_ANSWERED),),
        source="source",
        source_verdict=DOUBLES,
        source_stance="elsewhere",
    ),
)
