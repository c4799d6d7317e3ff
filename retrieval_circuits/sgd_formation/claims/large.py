"""Claims on the source's own network on our stream: whether what small networks show there holds at its size.

Written down before any of its networks was trained, after pilots on a seed that no arm has (0), of which the loss alone
was looked at: it fell at step 2,500 with the source's start and rate. What small networks have in the same readings was
known, and is why SF50 asks for a fifth. SF51 came when the other four had been judged: four starts had passed the tests
of SF49, and the fifth, whose head that joins most is in the second layer, neither. No test had been made there.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, best_of, worst_of
from livingpaper.claims.units import at_least, at_most
from retrieval_circuits.bounds import BEHAVIOUR, MORE_OFTEN_THAN_NOT
from retrieval_circuits.sgd_formation.claims.small_networks import SCORE, when
from retrieval_circuits.sgd_formation.design import LARGE
from retrieval_circuits.sgd_formation.measures.links import COPIES, FINDS, JOINS
from retrieval_circuits.sgd_formation.readings import networks as readings
from retrieval_circuits.sgd_formation.readings.moves import moved, unmoved

STAY = Control(
    reading=SCORE("share of answers that are what an exchange would make them, without it,", values=unmoved(LARGE)),
    bound=at_most(0.1, "the tests move answers that else are others"),
)
"""Of claims on moves."""
IN_PLACES = tuple(worst_of(moved(LARGE, JOINS, later), moved(LARGE, COPIES, later)) for later in (0, 1))
"""What the lesser of two tests moves in the first two layers, and in the two after."""
AT_ITS_SIZE = (
    Claim(
        id="SF47",
        says=Says(
            holds="The source's network, too, learns to look the key up on our stream.",
            fails="The source's network does not learn to look the key up on our stream in the steps it had.",
            whether="whether the source's network learns the look-up on our stream",
        ),
        reading=SCORE("accuracy on test reads of our stream, source's network,", values=readings.accuracy(LARGE)),
        bound=BEHAVIOUR,
    ),
    Claim(
        id="SF48",
        says=Says(
            holds="In the source's network, too, the look-up appears on our stream in one transition.",
            fails="In the source's network the look-up appears on our stream bit by bit.",
            whether="whether the look-up appears within three hundred steps in the source's network on our stream",
        ),
        reading=when(
            "steps from a fifth of the final accuracy to four fifths of it, source's network on our stream,",
            Less(readings.part_time(LARGE, 0.8), readings.part_time(LARGE, 0.2)),
        ),
        bound=at_most(300, "as of small networks"),
        controls=(
            Control(
                reading=SCORE("accuracy at the end", values=readings.accuracy(LARGE)),
                bound=BEHAVIOUR,
                spoils="either",
            ),
        ),
    ),
    Claim(
        id="SF49",
        says=Says(
            holds="By the tests of small networks the source's network, too, joins values to keys in its first layer "
            "on our stream, and copies the value asked for in its second.",
            fails="By the tests of small networks the source's network does not both join values to keys in its first "
            "layer on our stream and copy the value asked for in its second.",
            whether="whether the source's network joins in its first layer on our stream, and copies in its second",
        ),
        reading=SCORE(
            "share of answers that the lesser of two tests moves, of joining and of copying,",
            values=worst_of(moved(LARGE, JOINS), moved(LARGE, COPIES)),
        ),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(STAY,),
    ),
    Claim(
        id="SF50",
        says=Says(
            holds="On our stream the source's network, too, finds the value asked for by queries of its second layer, "
            "in one read of five or more.",
            fails="On our stream the source's network does not find the value asked for by queries of its second "
            "layer.",
            whether="whether the source's network finds the value asked for by queries of its second layer, in one "
            "read of five or more",
        ),
        reading=SCORE("share of answers that the test of finding moves,", values=moved(LARGE, FINDS)),
        bound=at_least(0.2, "one read of five; small networks lie anywhere from none to nine in ten"),
        controls=(STAY,),
    ),
    Claim(
        id="SF51",
        says=Says(
            holds="The source's network has joining and copying in two neighbouring layers, its first two or the two "
            "after, on average over starts.",
            fails="On average over starts the source's network has joining and copying neither in its first two layers "
            "nor in the two after.",
            whether="whether the source's network has joining and copying in two neighbouring layers",
        ),
        reading=SCORE(
            "share of answers that the lesser of the two tests moves, in the better of both places,",
            values=best_of(*IN_PLACES),
        ),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=SCORE("the same in the worse of both places", values=worst_of(*IN_PLACES)),
                bound=at_most(0.5, "the tests must tell one place from the other"),
            ),
        ),
        declared="after",
        remark="Declared on 2026-11-29, when SF49 had been judged, before any test in the later layers was made.",
    ),
)
