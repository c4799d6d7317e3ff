"""What the chapter claims, fixed before any of its networks was measured, and what the source published.

A claim whose id ends in ``.published`` is the one after it under the source's own measure. The source has one network
of each of its two models; a bound on a share of networks is the sharpest that the number of ours can show.
"""

from livingpaper.claims.claim import Claim

BORN = 0.5
"""Recall has come when more than half of the probes are answered with the y that was shown."""
LEARNT = 0.9
WHOLE = "recall is at least 0.9 in every network counted"

CLAIMS = (
    Claim(
        id="PR1",
        sentence="The small model, trained without repeats, eliminates and does not recall.",
        metric="share of probes answered with the y that was shown; d 16, 1 head, no repeats, at the source's epoch 20",
        direction="at_most",
        smallest_effect=0.05,
        control="the same networks answer at least 0.99 of last steps without repeat",
        source="source",
        source_verdict="Supported: one probe of one network",
    ),
    Claim(
        id="PR2",
        sentence="The large model, trained with repeats, recalls.",
        metric="share of probes answered with the y that was shown; d 32, 2 heads, repeats, at the source's epoch 50",
        direction="at_least",
        smallest_effect=0.99,
        control="the same networks answer at least 0.99 of last steps without repeat",
        source="source",
        source_verdict="Supported: 100 % in one network",
    ),
    Claim(
        id="PR3",
        sentence="Without repeats in training no size recalls.",
        metric="share of networks trained without repeats that recall more than half of the probes at the end",
        direction="at_most",
        smallest_effect=0.05,
        control="of the networks trained with repeats, of the same sizes, more than half do",
    ),
    Claim(
        id="PR4",
        sentence="A model of width 16 with one head cannot recall.",
        metric="share of networks of d 16, 1 head, trained with repeats, that recall more than half of the probes in "
        "the end",
        direction="at_most",
        smallest_effect=0.2,
        control="at least 0.8 of the networks of d 32, 2 heads do",
        source="source",
        source_verdict="Supported, by a model trained without repeats",
    ),
    Claim(
        id="PR5",
        sentence="One head of width 32 recalls only in part.",
        metric="share of probes answered with the y that was shown in the end; d 32, 1 head, repeats",
        direction="at_most",
        smallest_effect=0.9,
        control="with two heads it is at least 0.95",
        source="source",
        source_verdict="Stated, without a number",
    ),
    Claim(
        id="PR6",
        sentence="How soon recall comes depends on width more than on the number of heads.",
        metric="doublings of the time to recall that width 32 saves against 16, less those that two heads save against "
        "one; never counts as the end of training",
        direction="at_least",
        smallest_effect=0.5,
        control="recall comes in at least half of these networks",
    ),
    Claim(
        id="PR7",
        sentence="At steps 1 to 4 the model is as often right as anybody could be.",
        metric="1/5, 1/4, 1/3, 1/2 less the accuracy on held-out permutations, mean of the four steps; d 16, 1 head, "
        "no repeats, at the source's epoch 20",
        direction="at_most",
        smallest_effect=0.02,
        control="the last step is answered rightly in at least 0.99 of the rows",
        source="source",
        source_verdict="Implied: ~10 % at step 1 is said to be expected",
    ),
    Claim(
        id="PR8",
        sentence="It is less often right because held-out permutations are those that training lacks: on a split in "
        "which every pair is held out equally often, step 1 recovers.",
        metric="accuracy at step 1 on held-out permutations of a balanced split; the same model and time",
        direction="at_least",
        smallest_effect=0.15,
        control="on the source's split it is at most 0.13",
    ),
    Claim(
        id="PR9",
        sentence="The counts of the split predict how often each step is right.",
        metric="accuracy at steps 1 to 4 less what choosing the commonest y that is left would reach, mean absolute "
        "difference; the same model and time",
        direction="at_most",
        smallest_effect=0.03,
        control="the ceiling 1/5, 1/4, 1/3, 1/2 misses by at least 0.05",
    ),
    Claim(
        id="PR10.published",
        sentence="At the last step no y is given less than 0.998 by the small model.",
        metric="largest error of a probability at step 5, averaged over batches of 256; d 16, 1 head, no repeats, at "
        "the source's epoch 20",
        direction="at_most",
        smallest_effect=0.002,
        control="step 5 is answered rightly in at least 0.99 of the rows",
        source="source",
        source_verdict="Supported: 0.0013 in one network",
    ),
    Claim(
        id="PR10",
        sentence="At the last step no y is given less than 0.998 by the small model.",
        metric="largest error of a probability at step 5 in 5,000 rows; the same networks",
        direction="at_most",
        smallest_effect=0.002,
        control="step 5 is answered rightly in at least 0.99 of the rows",
        source="source",
        source_verdict="Supported: 0.0013 in one network",
    ),
    Claim(
        id="PR11",
        sentence="Before a network can recall it already knows that it should: the sudden drop of the loss is the "
        "binding alone.",
        metric="share of probes answered with the y not yet shown, at the last checkpoint before recall comes; d 32, 2 "
        "heads, repeats",
        direction="at_most",
        smallest_effect=0.25,
        control=WHOLE,
    ),
    Claim(
        id="PR12",
        sentence="The FFN is the memory: it recognises x and gives its y.",
        metric="recall without any head's edge from the last position to the y to be recalled",
        direction="at_least",
        smallest_effect=0.5,
        control=WHOLE,
        source="source",
        source_verdict="Stated, from one example",
    ),
    Claim(
        id="PR13",
        sentence="Attention carries it: recall needs the edge to the y and the edge to the x it belongs to.",
        metric="recall lost without the edges to the y, or without those to the x, whichever is less",
        direction="at_least",
        smallest_effect=0.5,
        control=WHOLE,
    ),
    Claim(
        id="PR14",
        sentence="Attention alone recalls: what the heads leave at the last position already tells the y.",
        metric="accuracy of a linear probe for the y to be recalled, after attention and before the FFN",
        direction="at_least",
        smallest_effect=0.95,
        control="after the FFN it reads at least 0.95",
    ),
    Claim(
        id="PR15",
        sentence="The FFN binds: no linear map in its place recalls.",
        metric="recall with the best linear map from the FFN's input to its output",
        direction="at_most",
        smallest_effect=0.5,
        control=WHOLE,
    ),
    Claim(
        id="PR16",
        sentence="One head says which slot matches, the other which y stands where.",
        metric="half the difference of the two heads in: answers moved by its output from a row in which two y trade "
        "places, less those moved by its output from a row in which two x do",
        direction="at_least",
        smallest_effect=0.5,
        control="both heads together move at least 0.9 of the answers of either kind",
    ),
    Claim(
        id="PR17",
        sentence="The y and its slot are tied in the values: two y that trade positional codes there trade answers.",
        metric="share of probes answered with the other y, when its value vectors carry the position of the y to be "
        "recalled and the other way round",
        direction="at_least",
        smallest_effect=0.5,
        control=WHOLE,
    ),
    Claim(
        id="PR18",
        sentence="They are tied by how much attention each place gets: two y that trade positional codes in the keys "
        "trade answers.",
        metric="share of probes answered with the other y, when its key vectors carry the position of the y to be "
        "recalled and the other way round",
        direction="at_least",
        smallest_effect=0.5,
        control=WHOLE,
    ),
    Claim(
        id="PR19",
        sentence="Rows before the last take part: a y attends itself, an x absorbs the y before it.",
        metric="largest change of a last logit when nothing that attention writes to earlier rows is left",
        direction="at_least",
        smallest_effect=0.01,
        control="without attention to the y at the last row recall falls by at least 0.5",
        source="source",
        source_verdict="Stated, from attention maps",
    ),
    Claim(
        id="PR20",
        sentence="The two heads always share the work: one eliminates, the other recalls.",
        metric="share of networks whose heads differ by more than 0.5 in what their loss costs: elimination less "
        "recall, each head replaced by its mean",
        direction="at_least",
        smallest_effect=0.95,
        min_seeds=40,
        control=WHOLE,
        source="source",
        source_verdict="Stated, without a count",
    ),
    Claim(
        id="PR21",
        sentence="Which of the two heads eliminates is chance.",
        metric="share of networks in which it is the first head, as a distance from one half",
        direction="at_most",
        smallest_effect=0.2,
        min_seeds=40,
        control=WHOLE,
    ),
    Claim(
        id="PR22",
        sentence="Recall is learnt place by place: trained on repeats of the first x alone, no other is recalled.",
        metric="share of probes that repeat the second to fourth x answered with the y that was shown",
        direction="at_most",
        smallest_effect=0.05,
        control="trained on repeats of any x, the same model recalls at least 0.5 of these probes",
        source="source",
        source_verdict="Measured later: 0 of 600 probes of one network",
    ),
    Claim(
        id="PR23",
        sentence="Without its FFN the network does not recall.",
        metric="recall with the FFN's output zeroed; d 32, 2 heads, repeats in half of the rows, at the last epoch",
        direction="at_most",
        smallest_effect=0.1,
        control="with it the same networks recall at least 0.9",
        source="source",
        source_verdict="Measured later: 93.4 % with, 3.0 % without, one network",
    ),
    Claim(
        id="PR24",
        sentence="With one layer the width that recall needs grows with the number of symbols, with two it does not.",
        metric="doublings of the smallest width that recalls 0.9, from V 4 to V 7: one layer less two layers",
        direction="at_least",
        smallest_effect=0.5,
        control="two layers of some width recall 0.9 at every V",
    ),
)


PUBLISHED_STEPS = {
    "task 1": {
        "accuracy": (0.0956, 0.1640, 0.2456, 0.4226, 1.0),
        "mean error": (0.012388, 0.01553, 0.018369, 0.015447, 0.000292),
        "largest in batch": (0.034079, 0.072218, 0.101983, 0.119183, 0.001334),
    },
    "task 2": {
        "accuracy": (0.1456, 0.1640, 0.2336, 0.4150, 1.0),
        "mean error": (0.014704, 0.020145, 0.021205, 0.020931, 0.00031),
        "largest in batch": (0.055206, 0.090151, 0.143933, 0.168254, 0.024236),
    },
}
"""Source table of section 6 and of the notebook, by step; task 2's step 5 over all rows."""

PUBLISHED_LAST = {
    "normal": {"accuracy": 1.0, "mean error": 8.1e-05, "largest in batch": 0.001548},
    "repeat": {"accuracy": 1.0, "mean error": 0.000838, "largest in batch": 0.05565},
}
"""Task 2's last step, by kind of row."""

PUBLISHED_LOSS = {
    "task 1": (
        *(1.2537, 0.9714, 0.965, 0.9628, 0.9619, 0.9612, 0.9609, 0.9606, 0.9605, 0.9598),
        *(0.9598, 0.9593, 0.9596, 0.9593, 0.9592, 0.9593, 0.9592, 0.9592, 0.9588, 0.959),
    ),
    "task 2": (
        *(1.227, 1.0662, 1.061, 1.0589, 1.058, 1.0578, 1.0558, 1.0544, 1.0426, 0.9746),
        *(0.9635, 0.9617, 0.9606, 0.9608, 0.96, 0.9596, 0.9594, 0.9605, 0.9587, 0.9586),
        *(0.9584, 0.9601, 0.9616, 0.9581, 0.9581, 0.9579, 0.958, 0.9581, 0.958, 0.9594),
        *(0.9575, 0.9577, 0.9583, 0.9572, 0.9575, 0.9574, 0.9572, 0.9585, 0.9569, 0.9571),
        *(0.957, 0.9569, 0.9569, 0.9579, 0.9564, 0.9566, 0.9568, 0.9565, 0.9571, 0.9561),
    ),
}
"""Mean training loss of each epoch, nats a scored position."""

PUBLISHED_ABLATION = {
    "repeats of x1 alone": {"with": (0.43, 0.0, 0.0, 0.0), "without": (0.325, 0.0, 0.0, 0.0)},
    "repeats of any x, half": {"with": (0.985, 0.88, 0.92, 0.95), "without": (0.0, 0.02, 0.01, 0.09)},
}
"""The later notebook: recall by slot repeated, with and without the FFN; 200 probes each."""
