"""Claims on what updates tell of the heads that reads come to need.

The source lists how ten signals of an update go with five changes, over one network and 63 intervals, without a
control. One of these is: the more its answers gain, the smaller the length of one head's change over that of its
layer's attention (correlation -0.53); the head is in its first layer. It concludes nothing from that. SF67 was written
as if it were a share of the whole update and of a head that reads, so that it is ours, and not the source's; SF73 asks
what the source lists, and was written after the tables had been seen. The others were written when all was known of the
eight small networks that are looked at through training but this: no two of their checkpoints had been compared, and
there was no pilot. No bound was changed. Remarks, the words of SF70 and some of SF68 came after the result.
"""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, Unit, at_least, at_most
from retrieval_circuits.sgd_formation.claims.source_network import CORRELATION
from retrieval_circuits.sgd_formation.readings.updates import (
    DEAREST,
    RISE,
    THE_OTHERS,
    UNTIL_THEN,
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
            "layer's dearest head.",
            fails="The share of the update that goes to the second layer's dearest head is no smaller when small "
            "networks come to read faster.",
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
        remark="It was written as a test of a link that the source lists, which it is not: that is of a head of the "
        "first layer.",
    ),
    Claim(
        id="SF68",
        says=Says(
            holds="Before small networks read, the head of the first layer that will cost most has a larger share of "
            "the updates than the others of its layer.",
            fails="Before small networks read, the head of the first layer that will cost most has no larger share of "
            "the updates than the others of its layer.",
            whether="whether the head of the first layer that will cost most has a larger share of the updates than "
            "the others there before small networks read",
        ),
        reading=Reading(
            "from the start to the last checkpoint before a quarter of the reads is right, how much more of the "
            "updates the first layer's dearest head at the end has than the mean of its others",
            MORE_THAN_OTHERS,
            lead("L0", UNTIL_THEN),
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
            "from the last checkpoint before a quarter of the reads is right to the first with nine in ten, or to the "
            "end, how much more of the updates the first layer's dearest head has than the mean of its others",
            MORE_THAN_OTHERS,
            lead("L0", RISE),
        ),
        bound=at_least(0, AS_MUCH),
        remark="In six of the seven it has more, in the one that ends at six in ten less.",
    ),
    Claim(
        id="SF70",
        says=Says(
            holds="In most small networks some part's share of the update goes more closely with what is gained than "
            "any part's would, had the rise come at nineteen of twenty other times.",
            fails="In most small networks the closest link of a part's share of the update with what is gained is "
            "reached at more than one in twenty other times of the rise.",
            whether="whether in most small networks shares of the update go more closely with the rise when it came "
            "than at nearly all other times",
        ),
        reading=Reading(
            "share of shifts in time at which the closest link of any part's share of the update with what is read "
            "more is as close as without a shift",
            OF_SHIFTS,
            as_large_by_shifting,
        ),
        rule=Share(each=at_most(0.05, "one shift in twenty")),
        bound=MORE_OFTEN_THAN_NOT,
        remark="Shifts that come as close mostly put the rise in the first quarter of training, where shares are far "
        "from what they are later. Without all shifts into it four of the seven would pass; by the first layer's "
        "dearest head alone the same four pass with them. All that was seen after the result.",
    ),
    Claim(
        id="SF73",
        says=Says(
            holds="The more small networks gain, the smaller the part of the first layer's attention update that its "
            "dearest head has, as the source lists of a head of its own.",
            fails="The part of the first layer's attention update that its dearest head has is no smaller when small "
            "networks gain more, unlike what the source lists of a head of its own.",
            whether="whether the first layer's dearest head has a smaller part of its layer's attention update when "
            "small networks gain more",
        ),
        reading=Reading(
            "correlation over intervals between checkpoints, of the length of the first layer's dearest head's change, "
            "over that of its layer's heads, with what is read more",
            CORRELATION,
            with_gains("L0", DEAREST, in_layer=True),
        ),
        bound=at_most(0, "no link"),
        source="source",
        source_verdict="Supported",
        source_stance="elsewhere",
        declared="after",
        remark="The source's number is of one network on its own stream, and it concludes nothing from it. Shares of "
        "the whole update had been seen before this was asked.",
    ),
)
