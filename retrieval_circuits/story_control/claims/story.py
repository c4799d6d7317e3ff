"""Claims on the story: that nothing is born there, whether anything could be, and what is learnt."""

from dataclasses import replace
from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, at_end
from livingpaper.claims.rules import Counted, Every
from livingpaper.claims.units import POINTS, at_least, at_most, share_of
from retrieval_circuits.story_control import readings
from retrieval_circuits.story_control.claims.shared import BIRTHS, BY, TRAINED_ON, able, births, name
from retrieval_circuits.story_control.design import PLANTED, STORY, data_set_of
from retrieval_circuits.story_control.readings import MOTIFS, OURS, PUBLISHED

NO_BIRTH_POSSIBLE = (
    "these definitions allow none of the four births on the rows of the story, whatever network is trained."
)


def _silent(definitions: str, source_verdict: str) -> Claim:
    by = BY[definitions]
    return Claim(
        id=name("SC1", definitions),
        says=Says(
            holds=f"On the story, {by}, nothing is born: neither behaviour nor routing, copying or faithfulness.",
            fails=f"On the story, {by}, something is born in {{against}} of {{n}} networks.",
            whether=f"whether anything is born on the story {by}",
        ),
        reading=births(STORY, definitions),
        rule=Every(each=at_most(0, "not one birth")),
        bound=at_least(0.8, "what so few networks can show"),
        controls=(able(definitions).on_data_sets(data_set_of),),  # planted repeats are drawn anew, the story is not
        source="source",
        source_verdict=source_verdict,
        void=NO_BIRTH_POSSIBLE if definitions == PUBLISHED else "",
    )


def _possible(arm: str) -> Reading:
    return Reading(
        f"births that any network could have on rows of {TRAINED_ON[arm]}, {BY[PUBLISHED]},",
        BIRTHS,
        partial(readings.births_possible, arm=arm),
    )


STORY_ONLY = (
    _silent(PUBLISHED, "Supported: no births in one run"),
    replace(_silent(OURS, "Supported, under its own definitions"), source_stance="by another definition"),
    Claim(
        id="SC2",
        says=Says(
            holds="By the source's definitions some network could have had one of the four births on our story, so the "
            "measurements could have failed there.",
            fails="By the source's definitions no network could have had one of the four births on our story, so the "
            "measurements could not have failed there.",
            whether="whether by the source's definitions any network could have had one of the four births on our "
            "story",
        ),
        reading=_possible(STORY),
        rule=Counted(),
        bound=at_least(1, "one possible birth is enough to fail by"),
        controls=(
            Control(
                reading=_possible(PLANTED),
                rule=Counted(),
                bound=at_least(len(MOTIFS), "where retrieval can be learnt, all four can be born"),
                spoils="no",
            ),
        ),
        min_seeds=0,
        source="source",
        source_verdict="Implied, of its own story: the measurements do not invent a mechanism where there is none",
        source_stance="elsewhere",
    ),
    Claim(
        id="SC3",
        says=Says(
            holds="Words of the story held out for validation are not learnt: the best epoch on them is hardly better "
            "than always saying the commonest word.",
            fails="On validation words of the story their best epoch is better than always saying the commonest word, "
            "by {effect}.",
            whether="whether at their best epoch networks are right on one in twenty more validation words of the "
            "story than who always says the commonest word",
        ),
        reading=Reading(
            "validation accuracy at its best checkpoint, less that of always saying the commonest word,",
            POINTS,
            readings.above_commonest_word,
            arms=(STORY,),
        ),
        bound=at_most(0.05, "one word in twenty; of several checkpoints the best is better by luck alone"),
        controls=(
            Control(
                reading=Reading(
                    "accuracy on the words trained on", share_of("words"), at_end("accuracy", STORY, split="train")
                ),
                bound=at_least(0.99, "the story is learnt by heart; otherwise training was too short for anything"),
                spoils="yes",
            ),
        ),
        source="source",
        source_verdict="Shown: 0.094 at best; the commonest word scores 0.085 there",
    ),
)
