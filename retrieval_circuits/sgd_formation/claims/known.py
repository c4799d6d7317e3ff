"""Claims on what networks go by before they look the key up: which pairs occur, and where a value stands.

Declared on 2026-11-28, before any network was asked this through its training. What was known then: two networks that
do not read by the end (16, 20), and one a thousand steps before it reads (13), give held-out pairs hardly ever. When
the claim on places was declared, so was what those two read at the end, by place: late values, and no early ones.

After the result, on a hostile reading, the words of the first were narrowed: they said "before networks look the key
up", by which time some have a head that looks. Its control could not have failed, as each value is held out of one key:
held against other keys one answer in eight is a held-out pair, whatever is answered.

That on ruling out was declared later that day. The same cut had been made in all twenty at steps 4,000 and 5,000; of
the four that did not read by 4,000 three gave the hidden value (9, 16, 20), one did not (13). After the result its
words were mended (a value was "answered"), and, on two critical readings, its checkpoint, which was taken from 64 rows
of validation and is now by the chapter's own accuracy, and its control, which hid the value from the nearest other
key: in two fifths of the reads that stood before the value.

As most networks hardly read late values by then, the last two ask the same, and whether it is the look-up already, at
the last checkpoint before half of the reads is right. They were declared on the same day. What is cut had been seen at
step 4,000, at the end, and before a quarter; in three networks (5, 11, 20) that is the same checkpoint. After the
result, on a hostile reading, SF45 was narrowed: it spoke of "the look-up", and a read may find its key and look one
place on. Its control, which cut one place in one layer and could not have failed, cuts values from other keys instead.
"""

from typing import Any

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, Unit, at_least, at_most, share_of
from retrieval_circuits.sgd_formation.claims.small_networks import GAP, TWO_CHECKPOINTS, WINDOW, when
from retrieval_circuits.sgd_formation.design import HALF, WITHOUT_KEY
from retrieval_circuits.sgd_formation.measures import cuts
from retrieval_circuits.sgd_formation.readings import known as readings

ANSWERS = share_of("answers")
LEFT = Unit(name="%", of="late reads answered right", times=100, low=0)
"""More than all may be answered right with a look cut."""


def _ruling_out(words: str, share: float) -> dict[str, Any]:
    """What a claim asks of values that are ruled out, at the last checkpoint before a share of reads is right."""
    return {
        "reading": GAP(
            "share of late reads answered with one other value, with the key's last place cut from it, less that with "
            f"nothing cut, before {words} of the reads is right,",
            values=readings.gives_one(cuts.KEY_FROM_ONE, before=share),
        ),
        "rule": Share(each=at_least(0.05, "five points")),
        "bound": MORE_OFTEN_THAN_NOT,
        "controls": (
            Control(
                reading=GAP(
                    "the same of another key that stands behind that value, where one does,",
                    values=readings.gives_one(cuts.OTHER_KEY_FROM_ONE, "gives_one_seen", before=share),
                ),
                bound=at_most(0.02, "less than half of the bound: it is the key asked for that matters"),
            ),
        ),
    }


KNOWN = (
    Claim(
        id="SF40",
        says=Says(
            holds="Before a quarter of the reads is right networks know which pairs occur: hardly ever do they answer "
            "with a value that training never holds with the key asked for.",
            fails="Before a quarter of the reads is right networks answer with values that training never holds with "
            "the key asked for, too.",
            whether="whether networks know which pairs occur before a quarter of the reads is right",
        ),
        reading=Reading(
            "of answers never written to the key asked for, the share whose pair training never holds, before a "
            "quarter of the reads is right,",
            ANSWERS,
            readings.before_look_up("gives_held_out"),
        ),
        bound=at_most(0.04, "a third of what values by lot have, 10 of 80"),
        controls=(
            Control(
                reading=Reading(
                    "the same answers held against the keys that other reads ask for",
                    ANSWERS,
                    readings.before_look_up("gives_held_out_of_others"),
                ),
                bound=at_least(0.08, "twice the bound: it is the key asked for that keeps these values out"),
            ),
        ),
        remark="Its words were narrowed after the result. Its control could not have failed: each value is held out of "
        "one key.",
    ),
    Claim(
        id="SF41",
        says=Says(
            holds="Pairs that were never trained on are read a hundred steps later, or more, than pairs that were.",
            fails="Pairs that were never trained on are read less than a hundred steps later than pairs that were.",
            whether="whether pairs never trained on are read a hundred steps later than others",
        ),
        reading=when(
            "steps from half of the reads of trained pairs right to half of the reads of held-out ones",
            Less(readings.pair_time("heldout_pairs"), readings.pair_time("heldout_twins")),
        ),
        bound=at_least(WINDOW, TWO_CHECKPOINTS),
    ),
    Claim(
        id="SF42",
        says=Says(
            holds="What stands late in a stream is read first: in most networks values behind the tenth event come a "
            "hundred steps before the others, or more.",
            fails="What stands late in a stream is not read a hundred steps before the rest, in most networks.",
            whether="whether most networks read what stands late in a stream a hundred steps before the rest",
        ),
        reading=when(
            "steps from half of the late values read to half of the early ones",
            Less(readings.place_time("early"), readings.place_time("late")),
        ),
        rule=Share(each=at_least(WINDOW, TWO_CHECKPOINTS)),
        bound=MORE_OFTEN_THAN_NOT,
        declared="after",
        remark="It was declared when two of the networks had been seen to read late values at the end, and no early "
        "ones.",
    ),
    Claim(
        id="SF44",
        says=Says(
            holds="Before a quarter of the reads is right most networks rule values out: hiding one from where the key "
            "last stood makes them give it more often.",
            fails="Before a quarter of the reads is right most networks do not rule values out: hiding one from where "
            "the key last stood hardly makes them give it more often.",
            whether="whether most networks rule values out before a quarter of the reads is right",
        ),
        **_ruling_out("a quarter", WITHOUT_KEY),
        declared="after",
        remark="Its checkpoint and its control were replaced after its first verdict: the first came from few rows, "
        "the second often hid the value from a key that stood before it. The same networks pass either way. With all "
        "other values hidden, not one drawn by lot, eight of twenty lose five points of their late reads, which would "
        "be open.",
    ),
    Claim(
        id="SF45",
        says=Says(
            holds="Before half of the reads is right most networks read late values by what these have seen of their "
            "keys: without values' looks at their keys they get half as many right, or fewer.",
            fails="Before half of the reads is right most networks read late values without what these have seen of "
            "their keys: without values' looks at their keys they get more than half as many right.",
            whether="whether most networks read late values by what these have seen of their keys, before half of the "
            "reads is right",
        ),
        reading=Reading(
            "late reads answered right with values cut from their keys, in shares of those right with nothing cut, "
            "before half of all are right,",
            LEFT,
            readings.left_at_half(cuts.VALUES_FROM_KEYS),
        ),
        rule=Share(each=at_most(0.5, "half of them")),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(
            Control(
                reading=Reading(
                    "the same with values cut from the keys before those",
                    LEFT,
                    readings.left_at_half(cuts.VALUES_FROM_OTHER_KEYS),
                ),
                bound=at_least(0.8, "as many looks cut cost at most a fifth by themselves"),
            ),
        ),
        declared="after",
        remark="Its words, its unit and its control were changed after the result; the cuts had been seen at other "
        "checkpoints before.",
    ),
    Claim(
        id="SF46",
        says=Says(
            holds="Before half of the reads is right most networks rule values out: hiding one from where the key last "
            "stood makes them give it more often.",
            fails="Before half of the reads is right most networks do not rule values out: hiding one from where the "
            "key last stood hardly makes them give it more often.",
            whether="whether most networks rule values out before half of the reads is right",
        ),
        **_ruling_out("half", HALF),
        declared="after",
        remark="The same cut had been seen at other checkpoints, which in three networks are the one asked of here. "
        "With all other values hidden, not one drawn by lot, seven of twenty lose five points of their late reads, "
        "which would be open.",
    ),
)
