"""Claims on what each part of the source's larger model does, and on the roles of its two heads."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.rules import EvenOdds, Every, Forced
from livingpaper.claims.units import POINTS, SEEDS, Unit, at_least, at_most, share_of
from retrieval_circuits.bounds import LEADS_BY, MORE_OFTEN_THAN_NOT
from retrieval_circuits.permutation_recall.claims.networks import DISTANCE, large, they_recall
from retrieval_circuits.permutation_recall.readings import parts
from retrieval_circuits.permutation_recall.readings.models import LEARNT

ANSWERS = share_of("answers")
LOGIT = Unit(digits=2, low=0)
TWO_SHARES_APART = Unit(name="points", times=100, low=0, high=2)
"""A distance of two differences of shares."""
HALF_OF_ALL = at_least(0.5, "half of the probes, as much as counts as recall")

PARTS = (
    Claim(
        id="PR12",
        says=Says(
            holds="The FFN is the memory: it recognises x and gives its y.",
            fails="The FFN is not the memory: without attention to the y, networks recall on {effect} of probes.",
            whether="whether the FFN is the memory",
        ),
        reading=large(
            "recall without any head's edge from the last position to the y to be recalled", parts.recall_without_y
        ),
        bound=HALF_OF_ALL,
        controls=(they_recall("no"),),
        source="source",
        source_verdict="Stated, from one example",
        remark="The source also says that neither attention nor the FFN is enough alone, and calls the FFN's part "
        "strongly implied. What fails is that the FFN gives the y without an edge to it. That could not have held: "
        "without the edge two y are equally likely, so that no network of one layer recalls more than half.",
    ),
    Claim(
        id="PR13",
        says=Says(
            holds="Attention carries the y: recall needs the edge to the y and the edge to the x it belongs to.",
            fails="Recall does not need both edges: without one of them it falls by only {effect}.",
            whether="whether recall needs the edge to the y and the edge to the x it belongs to",
        ),
        reading=large(
            "lesser of two losses of recall, without the edges to the y and without those to the x",
            parts.lost_without_either,
            POINTS,
        ),
        bound=HALF_OF_ALL,
        controls=(they_recall("no"),),
        remark="Without the edge to the y, a loss of half is forced. Nor is it that edge alone: without those to the "
        "other y recall is a tenth, too. What is not forced is that the edge to the x is needed.",
    ),
    Claim(
        id="PR14",
        says=Says(
            holds="Attention alone recalls: what the heads leave at the last position already tells the y.",
            fails="What the heads leave at the last position does not tell the y to a linear probe, which is right on "
            "{effect} of rows.",
            whether="whether what the heads leave at the last position already tells the y",
        ),
        reading=large(
            "accuracy, between attention and FFN, of a linear probe for the y to be recalled",
            partial(parts.decoding_accuracy, site="resid_mid"),
        ),
        bound=at_least(0.95, "nearly always; a guess among the y shown scores 1/4"),
        controls=(
            Control(
                reading=large(
                    "accuracy of the same probe after the FFN", partial(parts.decoding_accuracy, site="resid_post")
                ),
                bound=at_least(0.95, "where the answer is known, a probe that can read at all must read it"),
                spoils="no",
            ),
        ),
    ),
    Claim(
        id="PR15",
        says=Says(
            holds="Recall in these networks needs their non-linear FFN: the linear map nearest to it does not recall "
            "in its place.",
            fails="Recall in these networks needs no non-linear FFN: the linear map nearest to it recalls in its "
            "place, on {effect} of probes.",
            whether="whether the linear map nearest to the FFN recalls in its place",
        ),
        reading=large(
            "recall with the linear map from the FFN's input that is nearest to its output, in squares, in its place",
            parts.recall_with_linear_map,
        ),
        bound=at_most(0.5, "half of the probes, as much as counts as recall"),
        controls=(they_recall("yes"),),
        remark="No network was trained with a linear FFN, or without one. The map does hardly better than the FFN's "
        "mean output in its place.",
    ),
    Claim(
        id="PR16",
        says=Says(
            holds="One head says which slot matches, the other which y stands where.",
            fails="The two heads do not divide between them which slot matches and which y stands where: they differ "
            "by only {effect}.",
            whether="whether one head says which slot matches and the other which y stands where",
        ),
        reading=large(
            "half the difference of the two heads in what their outputs move: answers from a row in which two y trade "
            "places, less answers from a row in which two x do",
            parts.separation_of_moves,
            DISTANCE,
        ),
        bound=at_least(0.5, "half of all answers"),
        controls=(
            Control(
                reading=large(
                    "share of answers of either kind, the one that moves less, moved by both heads together",
                    parts.share_moved_together,
                    ANSWERS,
                ),
                bound=at_least(LEARNT, "nearly all answers: heads that move none cannot differ"),
                spoils="no",
            ),
        ),
    ),
    Claim(
        id="PR17",
        says=Says(
            holds="The y and its slot are tied in the values: two y that trade positional codes there trade answers.",
            fails="The y and its slot are not tied in the values: two y that trade positional codes there trade "
            "answers on {effect} of probes.",
            whether="whether two y that trade positional codes in the values trade answers",
        ),
        reading=large(
            "share of probes answered with the other y when it and the y to be recalled trade positions in the values",
            partial(parts.answers_traded, path="values"),
        ),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(they_recall("no"),),
    ),
    Claim(
        id="PR18",
        says=Says(
            holds="The y and its slot are tied by how much attention each place gets: two y that trade positional "
            "codes in the keys trade answers.",
            fails="The y and its slot are not tied by how much attention each place gets: two y that trade positional "
            "codes in the keys trade answers on {effect} of probes.",
            whether="whether two y that trade positional codes in the keys trade answers",
        ),
        reading=large(
            "share of probes answered with the other y when it and the y to be recalled trade positions in the keys",
            partial(parts.answers_traded, path="keys"),
        ),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(they_recall("no"),),
    ),
    Claim(
        id="PR19",
        says=Says(
            holds="Rows before the last take part: a y attends to itself, an x absorbs the y before it.",
            fails="Rows before the last take no part: in one layer nothing that attention writes to them reaches the "
            "last logits.",
            whether="whether rows before the last take part",
        ),
        reading=large(
            "largest change of a last logit when nothing that attention writes to earlier rows is left",
            parts.change_without_earlier_rows,
            LOGIT,
        ),
        rule=Forced(),
        bound=at_least(0.01, "more than rounding; with one layer it is 0 by construction"),
        controls=(
            Control(
                reading=large(
                    "recall lost without attention to the y at the last row",
                    partial(parts.lost_without_edge, edit="cut y_source"),
                    POINTS,
                ),
                bound=at_least(0.5, "half of the probes: what attention writes to the last row does take part"),
                spoils="no",
            ),
        ),
        source="source",
        source_verdict="Stated, from attention maps",
        remark="It could not have come out otherwise: in one layer nothing at the last position reads what earlier "
        "rows write.",
    ),
)

ROLES = (
    Claim(
        id="PR20",
        says=Says(
            holds="The two heads always differ by half of all answers, or more, in what their loss costs.",
            fails="The two heads do not always differ by half of all answers in what their loss costs: in {against} of "
            "{n} networks they do not.",
            whether="whether the two heads always differ by half of all answers in what their loss costs",
        ),
        reading=large(
            "two heads that differ, in elimination lost less recall lost with its mean in each one's place, by",
            parts.role_separation,
            TWO_SHARES_APART,
        ),
        rule=Every(each=at_least(LEADS_BY, "half of all answers")),
        bound=at_least(0.95, "all but one network in twenty"),
        min_seeds=40,
        controls=(they_recall("either"),),
        source="source",
        source_verdict="Stated, without a count",
    ),
    Claim(
        id="PR21",
        says=Says(
            holds="Which of the two heads elimination needs more is chance.",
            fails="Which of the two heads elimination needs more is not chance: it is one of them more often.",
            whether="whether it is chance which of the two heads elimination needs more",
        ),
        reading=large(
            "distance from one half of the share of networks in which it is the first head that eliminates",
            parts.first_head_eliminates,
            SEEDS,
        ),
        rule=EvenOdds(),
        bound=at_most(0.2, "between 30 % and 70 % of networks, the sharpest that 40 networks can show"),
        min_seeds=40,
        controls=(they_recall("either"),),
    ),
)
