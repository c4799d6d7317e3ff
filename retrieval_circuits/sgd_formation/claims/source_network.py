"""Claims on the source's own network, trained again from five random starts on the source's own stream."""

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Less, Reading
from livingpaper.claims.rules import Share
from livingpaper.claims.units import MORE_OFTEN_THAN_NOT, POINTS, Unit, at_least, at_most
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation import forecasts, readings
from retrieval_circuits.sgd_formation.claims.small_networks import GAP, SCORE, when
from retrieval_circuits.sgd_formation.design import FRESH, FULL
from retrieval_circuits.sgd_formation.measures.bases import ALL, LATE
from retrieval_circuits.sgd_formation.published import PROBE_ACCURACY

NATS = Unit(name="nats", digits=3)
CORRELATION = Unit(digits=2, low=-1, high=1)

END = (
    Claim(
        id="SF22",
        says=Says(
            holds="Trained again from five other starts, the source's network reads its new rows as the source says.",
            fails="Trained again from other starts, the source's network does not read new rows of its stream.",
            whether="whether the source's network reads new rows when it is trained again",
        ),
        reading=SCORE("accuracy on test rows at the last step, source's network", values=readings.accuracy(FULL)),
        bound=BEHAVIOUR,
        source="source",
        source_verdict="Supported",
    ),
    Claim(
        id="SF23",
        says=Says(
            holds="It ends up with as much of the source's probe set as the source says, within five points.",
            fails="It does not end up with as much of the source's probe set as the source says.",
            whether="whether it ends up with as much of the probe set",
        ),
        reading=GAP(
            "difference from the source's accuracy on its probe set at the last step, either way,",
            values=readings.off_the_published(PROBE_ACCURACY),
        ),
        bound=at_most(0.05, "five points: 34 of 677 reads"),
        source="source",
        source_verdict="Supported",
    ),
    Claim(
        id="SF24",
        says=Says(
            holds="It reads pairs that it never trained on worse than others.",
            fails="It reads pairs that it never trained on as well as others.",
            whether="whether the source's network reads held-out pairs worse",
        ),
        reading=GAP(
            "accuracy on test rows, less that on held-out pairs, source's network",
            values=Less(readings.accuracy(FULL), readings.accuracy(FULL, "heldout_pairs")),
        ),
        bound=at_least(0.05, "five points; the source has 8.5"),
        source="source",
        source_verdict="Supported",
    ),
    Claim(
        id="SF25",
        says=Says(
            holds="Of more keys, at positions that were partly never trained, it reads little more than half.",
            fails="Of more keys it reads clearly more than half.",
            whether="whether the source's network fails on more keys",
        ),
        reading=SCORE("accuracy on more keys, source's network", values=readings.accuracy(FULL, "structural_ood")),
        bound=at_most(0.6, "the source has 51 %"),
        source="source",
        source_verdict="Supported",
    ),
    Claim(
        id="SF26",
        says=Says(
            holds="It learns its rows by heart: each word costs less on rows that it trained on than on new ones.",
            fails="It does not learn its rows by heart: words cost as much on rows that it trained on as on new ones.",
            whether="whether the source's network learns its rows by heart",
        ),
        reading=Reading(
            "loss on test rows, less that on rows trained on, a word, source's network",
            NATS,
            Less(readings.word_loss(FULL), readings.word_loss(FULL, "train")),
        ),
        bound=at_least(0.1, "a tenth of a nat a word"),
        controls=(
            Control(
                reading=Reading(
                    "the same difference on our stream, where rows are always fresh",
                    NATS,
                    Less(readings.word_loss(FRESH), readings.word_loss(FRESH, "train")),
                ),
                bound=at_most(0.05, "half of the bound: rows of the two splits cost the same"),
            ),
        ),
    ),
)

FORMATION = (
    Claim(
        id="SF27",
        says=Says(
            holds="The source's own network, too, answers half of the reads before it looks at the key.",
            fails="The source's own network looks at the key once it answers half of the reads.",
            whether="whether the source's own network first answers without looking at the key",
        ),
        reading=SCORE(
            "share of answers that stay when another key is asked for, once half of the reads are right, source's "
            "network",
            values=readings.unmoved_at_half(FULL),
        ),
        bound=at_least(0.5, "more often than not"),
        controls=(
            Control(
                reading=SCORE("the same share on our stream", values=readings.unmoved_at_half(FRESH)),
                bound=at_most(0.25, "the measure sees networks that do look"),
            ),
        ),
    ),
    Claim(
        id="SF28",
        says=Says(
            holds="It, too, stays there: its look-up comes five hundred steps or more after half of the reads.",
            fails="Its look-up comes less than five hundred steps after half of the reads.",
            whether="whether that takes the source's network five hundred steps",
        ),
        reading=when(
            "steps from half of the reads right to half of the answers that follow another key, source's network",
            Less(readings.following_time(FULL), readings.half_time(FULL)),
        ),
        bound=at_least(500, "two of the source's checkpoints, and what small networks are asked"),
        controls=(
            Control(
                reading=when(
                    "the same steps on our stream",
                    Less(readings.following_time(FRESH), readings.half_time(FRESH)),
                ),
                bound=at_most(200, "four checkpoints: where no rule does without the key there is no such phase"),
            ),
        ),
    ),
    Claim(
        id="SF29",
        says=Says(
            holds="Its reading is formed in stages, over a thousand steps or more.",
            fails="Its reading is formed in less than a thousand steps.",
            whether="whether the source's network forms reading in stages",
        ),
        reading=when(
            "steps from a fifth of the final accuracy to four fifths of it, source's network",
            Less(readings.part_time(FULL, 0.8), readings.part_time(FULL, 0.2)),
        ),
        bound=at_least(1_000, "half of what the source's curve takes, 2,000 steps"),
        source="source",
        source_verdict="Supported",
    ),
)

PARTS = (
    Claim(
        id="SF30",
        says=Says(
            holds="In it one head carries the look-up: without it reading fails.",
            fails="In it no one head carries the look-up.",
            whether="whether one head carries the look-up in the source's network",
        ),
        reading=GAP("accuracy that removing that head costs, source's network", values=readings.cost_of_leader(FULL)),
        bound=at_least(0.3, "in the source it costs 50 points"),
        controls=(
            Control(
                reading=GAP(
                    "accuracy that removing another head of its layer costs", values=readings.cost_of_others(FULL)
                ),
                bound=at_most(0.15, "half of the bound: the cost is this head's, not any head's"),
            ),
        ),
        source="source",
        source_verdict="Supported",
    ),
    Claim(
        id="SF31",
        says=Says(
            holds="In it the first MLP's removal costs more than that head's.",
            fails="In it the first MLP's removal costs no more than that head's.",
            whether="whether the first MLP matters more than that head in the source's network",
        ),
        reading=GAP(
            "accuracy that the first MLP's removal costs, less the head's, source's network",
            values=Less(readings.cost_of_part(FULL, "L0MLP"), readings.cost_of_leader(FULL)),
        ),
        bound=at_least(0.1, "ten points; in the source the difference is 23"),
        source="source",
        source_verdict="Supported",
    ),
    Claim(
        id="SF32",
        says=Says(
            holds="That head is in the last layer more often than not, as in the source.",
            fails="That head is mostly not in the last layer, where the source has it.",
            whether="whether that head is in the last layer of the source's network",
        ),
        reading=Reading(
            "layer of the head that looks most at the value asked for, source's network",
            readings.LAYER,
            readings.layer_of(FULL),
        ),
        rule=Share(each=at_least(2, "the last of three, counted from 0")),
        bound=MORE_OFTEN_THAN_NOT,
        source="source",
        source_verdict="Supported",
    ),
)

FEATURES = (
    Claim(
        id="SF33",
        says=Says(
            holds="The source's model, from what it knows before the network reads, foretells which features become "
            "useful first.",
            fails="The source's model, from what it knows before the network reads, does not foretell which features "
            "become useful first.",
            whether="whether the source's model of births foretells which features become useful first",
        ),
        reading=Reading(
            "rank correlation of the model's score with how early features become useful, the source's autoencoder",
            CORRELATION,
            forecasts.foretold(LATE),
        ),
        bound=at_least(0.3, "a weak link; by lot it is 0"),
        controls=(
            Control(
                reading=Reading(
                    "the same of what is seen of each feature two checkpoints later",
                    CORRELATION,
                    forecasts.foretold(LATE, forecasts.LATER),
                ),
                bound=at_least(0.3, "something tells the order"),
            ),
        ),
        source="source",
        source_verdict="Refuted",
    ),
    Claim(
        id="SF34",
        says=Says(
            holds="It does so, too, for features learnt from all of training.",
            fails="Nor does it for features learnt from all of training.",
            whether="whether it foretells features learnt from all of training",
        ),
        reading=Reading(
            "rank correlation of the model's score with how early features become useful, all checkpoints",
            CORRELATION,
            forecasts.foretold(ALL),
        ),
        bound=at_least(0.3, "a weak link; by lot it is 0"),
        controls=(
            Control(
                reading=Reading(
                    "the same of what is seen of each feature two checkpoints later",
                    CORRELATION,
                    forecasts.foretold(ALL, forecasts.LATER),
                ),
                bound=at_least(0.3, "something tells the order"),
            ),
        ),
    ),
    Claim(
        id="SF35",
        says=Says(
            holds="Training pulls at two features alike in as many neurons as the angle of their gradients gives.",
            fails="Training pulls at two features alike in other neurons than the angle of their gradients gives.",
            whether="whether neurons that serve two features are more than an angle gives",
        ),
        reading=Reading(
            "difference of the share of neurons pulled alike from that by the angle, either way, pairs of features",
            POINTS,
            forecasts.of_pairs("off_angle", LATE),
        ),
        bound=at_most(0.05, "five points; the source's own counts are two from its angle's share"),
        controls=(
            Control(
                reading=Reading(
                    "the same difference from one half, which no angle enters",
                    POINTS,
                    forecasts.of_pairs("off_half", LATE),
                ),
                bound=at_least(0.05, "angles are needed to say how many"),
            ),
        ),
    ),
)

SOURCE_NETWORK = (*END, *FORMATION, *PARTS, *FEATURES)
