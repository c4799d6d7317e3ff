"""Claims on looks that are needed while attention is a network's own.

Declared on 2026-11-28, when one network of twelve layers by the source's recipe had been looked at so, and none of the
followed ones. That the look which joins the first pair is mostly left out was known, and the source says as much of its
first useful layers, so that this could hardly come out otherwise. After the result the words were mended: they spoke of
"the source's reading", which keeps these layers, and of "a twentieth", which is no share.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import COUNT, MORE_OFTEN_THAN_NOT, at_least, at_most
from retrieval_circuits.stacked_heads.claims.bounds import ERROR_MORE
from retrieval_circuits.stacked_heads.design import FOLLOWED
from retrieval_circuits.stacked_heads.readings import needed as readings

NEEDED = (
    Claim(
        id="SH59",
        says=Says(
            holds="Our reading, with all maps set, leaves out looks that are needed: most of the followed networks "
            "have a look outside their circuit without which, attention being free, the squared error grows by 0.05 "
            "or more.",
            fails="Our reading, with all maps set, leaves out no look that is needed, in most of the followed "
            "networks.",
            whether="whether our reading, with all maps set, leaves out looks that most of the followed networks need",
        ),
        reading=Reading(
            "looks left out without which the error grows by 0.05 or more, in followed networks that answer with maps "
            "set along the paths left,",
            COUNT,
            readings.left_out(),
        ),
        rule=Share(each=at_least(1, "at least one")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=Reading(
                    "how much more error comes of forbidding a look that a head hardly makes, on average",
                    ERROR_MORE,
                    readings.unlooked_rise(FOLLOWED),
                ),
                bound=at_most(0.01, "a fifth of the bound: to forbid a look is no harm in itself"),
            ),
        ),
        declared="after",
        remark="One network of twelve layers had been looked at in this way, and none of the ten; that the look which "
        "joins the first pair is mostly left out was known. So it could hardly have come out otherwise.",
    ),
)
