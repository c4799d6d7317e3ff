"""Claims on what updates tell of the heads that reads come to need.

The source holds shares of each update, over one network and 63 intervals, against how its answers change: the more they
change, the smaller the share of its top head (correlation -0.53). It has fifty such correlations, no control, and the
tied embedding twice. Ours are asked of the eight small networks that are looked at through training. Written when all
was known of these but this: no two of their checkpoints had been compared, and there was no pilot. The first claim and
its sign are the source's; that the second layer's dearest head stands for its top head is ours. Remarks came after the
result.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, Unit, at_least, at_most
from retrieval_circuits.sgd_formation.claims.source_network import CORRELATION
from retrieval_circuits.sgd_formation.readings.updates import (
    BEFORE,
    DEAREST,
    RISE,
    THE_OTHERS,
    as_large_by_shifting,
    lead,
    with_gains,
)

MORE_THAN_OTHERS = Unit(name="%", of="the others' mean share", times=100)
OF_SHIFTS = Unit(name="%", of="all shifts", times=100, low=0, high=1)
AS_MUCH = "as much as the others"

UPDATES = (
    Claim(
        id="SF67",
        says=Says(
            holds="The faster small networks come to read, the smaller the share of the update that goes to the second "
            "layer's dearest head, as the source says of its own.",
            fails="The share of the update that goes to the second layer's dearest head is no smaller when small "
            "networks come to read faster, unlike what the source says of its own.",
            whether="whether the second layer's dearest head has a smaller share of the update when small networks "
            "come to read faster",
        ),
        reading=Reading(
            "correlation over intervals between checkpoints, of the second layer's dearest head's share of the update "
            "with what is read more",
            CORRELATION,
            with_gains("L1", DEAREST),
        ),
        bound=at_most(0, "no link"),
        controls=(
            Control(
                reading=Reading(
                    "the same of the mean of the layer's others", CORRELATION, with_gains("L1", THE_OTHERS)
                ),
                bound=at_least(0, "it is this head, and not its layer"),
            ),
        ),
        source="source",
        source_verdict="Supported",
    ),
    Claim(
        id="SF68",
        says=Says(
            holds="Before small networks read, the head of the first layer that will cost most has a larger share of "
            "the updates than the others of its layer.",
            fails="Before small networks read, the head of the first layer that will cost most has no larger share of "
            "the updates than the others of its layer.",
            whether="whether updates tell which head of the first layer will cost most before small networks read",
        ),
        reading=Reading(
            "before a quarter of the reads is right, how much more of the updates the first layer's dearest head at "
            "the end has than the others of its layer",
            MORE_THAN_OTHERS,
            lead("L0", BEFORE),
        ),
        bound=at_least(0, AS_MUCH),
    ),
    Claim(
        id="SF69",
        says=Says(
            holds="While small networks come to read, the first layer's dearest head has a larger share of the updates "
            "than the others of its layer.",
            fails="While small networks come to read, the first layer's dearest head has no larger share of the "
            "updates than the others of its layer.",
            whether="whether the first layer's dearest head has a larger share of the updates than others while small "
            "networks come to read",
        ),
        reading=Reading(
            "during the rise, how much more of the updates the first layer's dearest head has than the others of its "
            "layer",
            MORE_THAN_OTHERS,
            lead("L0", RISE),
        ),
        bound=at_least(0, AS_MUCH),
        remark="In six of the seven it has more, in the one that ends at six in ten less.",
    ),
    Claim(
        id="SF70",
        says=Says(
            holds="In most small networks some part's share of the update goes with what is read more closely than it "
            "would, had the rise come at another time.",
            fails="In most small networks no part's share of the update goes with what is read more closely than some "
            "part's would, had the rise come at another time.",
            whether="whether in most small networks shares of the update go with what is read more closely than by "
            "chance",
        ),
        reading=Reading(
            "share of shifts in time at which the closest link of any part's share of the update with what is read "
            "more is as close as without a shift",
            OF_SHIFTS,
            as_large_by_shifting,
        ),
        rule=Share(each=at_most(0.05, "one shift in twenty")),
        bound=MORE_OFTEN_THAN_NOT,
        remark="Shifts that come as close mostly put the rise in the first quarter of training; without these four of "
        "the seven would pass. That was seen after the result.",
    ),
)
