"""Claims on when motifs are born: how far apart, in which order, and what the gate has to do with it."""

from functools import partial

from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.rules import Every, Share
from livingpaper.claims.units import COUNT, EPOCHS, RUNS, at_least, at_most
from retrieval_circuits.bounds import MORE_OFTEN_THAN_NOT, OPERATOR
from retrieval_circuits.six_run_matrix.claims.shared import NINE_OF_TEN, both
from retrieval_circuits.six_run_matrix.readings import per_seed, timing
from retrieval_circuits.six_run_matrix.readings.births import COPYING, ROUTING, corrected_births, published_births
from retrieval_circuits.six_run_matrix.readings.per_seed import better_run

PAIR = (COPYING, ROUTING)
SPREAD = at_least(50.0, "half of a hundred epochs, which three of the source's six runs exceed")
NO_ORDER = at_most(0.5, "an order that most runs have is a fixed one")


def _three_born(born_under: timing.BornUnder, how: str) -> Control:
    """Births that never happen are left out of a spread, so that few of them make a small one."""
    return Control(
        reading=both(
            f"runs that have, {how}, at least three of the four births",
            partial(timing.three_born, born_under=born_under),
            RUNS,
        ),
        bound=NINE_OF_TEN,
        spoils="no",
    )


def _unborn(born_under: timing.BornUnder, how: str, motifs: tuple[str, ...] = timing.ORDERED) -> Control:
    """A motif that is there before training has no birth to order, whichever way the order comes out."""
    return Control(
        reading=both(
            f"births of {', '.join(motifs[:-1])} and {motifs[-1]}, {how}, before training",
            partial(timing.born_at_start, born_under=born_under, motifs=motifs),
            COUNT,
        ),
        bound=at_most(0, "every compared motif is unborn at initialisation"),
        spoils="either",
    )


SOURCE, OURS = "under the published gate", "under our definitions"

TIMING = (
    Claim(
        id="SR5.published",
        says=Says(
            holds="Dated as the source dates them, the births of one run are spread over many epochs.",
            fails="Dated as the source dates them, the births of one run are not spread over many epochs: {effect} lie "
            "between the first and the last.",
            whether="whether the births of one run, dated as the source dates them, are spread over many epochs",
        ),
        reading=both(
            "distance from the first to the last birth of behaviour, copying, routing and slot patch in one run, under "
            "the published gate",
            partial(timing.apart, born_under=published_births),
            EPOCHS,
        ),
        bound=SPREAD,
        controls=(_three_born(published_births, SOURCE),),
        source="source",
        source_verdict="Supported: 16 to 114 epochs, 76 in the mean",
        remark="Births that never happen are left out. Counted at the last epoch, as SR6 counts them, it would be "
        "Supported; by our dates not even so.",
    ),
    Claim(
        id="SR5",
        says=Says(
            holds="By our dates the births of one run are spread over many epochs.",
            fails="By our dates the births of one run are not spread over many epochs: on average {effect} lie between "
            "the first and the last.",
            whether="whether by our dates the births of one run are spread over many epochs",
        ),
        reading=both(
            "distance from the first to the last birth of behaviour, copying, routing and slot (attention under "
            "exchanged queries) in one run, under our definitions",
            partial(timing.apart, born_under=corrected_births),
            EPOCHS,
        ),
        bound=SPREAD,
        controls=(_three_born(corrected_births, OURS),),
        source="source",
        source_verdict="Supported, under the published gate",
        source_stance="by another definition",
    ),
    Claim(
        id="SR6",
        says=Says(
            holds="The gate postpones or prevents the published births of routing and copying, far more than a moved "
            "threshold does.",
            fails="The gate postpones or prevents the published births of routing and copying by little more, if at "
            "all, than a moved threshold does.",
            whether="whether the gate postpones or prevents the published births far more than a moved threshold does",
        ),
        reading=both(
            "time by which the gate postpones routing and copying, less the range over thresholds 0.80 to 0.90 (a "
            "birth that never happens counts as one at the last epoch)",
            timing.gate_postpones,
            EPOCHS,
        ),
        bound=at_least(10.0, "as wide as the widest gap between the source's checkpoints"),
        controls=(
            Control(
                reading=both(
                    "runs in which both are born without the gate",
                    timing.operators_without_gate,
                    RUNS,
                ),
                bound=NINE_OF_TEN,
                # A birth that does not happen counts as one at the end, so that the gate seems to postpone less.
                spoils="no",
            ),
        ),
        remark="Under the gate a threshold moves no birth of these two at all, so that this was no contest. Without it "
        "one moves them by some six epochs, and the claim would stand against that, too. Births that happen under the "
        "gate are postponed by some forty epochs; the rest of the number is births that never happen. That was found "
        "in review.",
    ),
    Claim(
        id="SR7.published",
        says=Says(
            holds="Dated as the source dates them, copying is usually born before routing.",
            fails="Dated as the source dates them, copying is usually not born before routing.",
            whether="whether copying is usually born before routing, dated as the source dates them",
        ),
        reading=both(
            "runs, of those that decide under the published gate, with copying born before routing",
            partial(timing.copying_first, born_under=published_births),
            RUNS,
        ),
        rule=Share(),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(_unborn(published_births, SOURCE, PAIR),),
        source="source",
        source_verdict="Shown: copying can precede routing; 5 of 6 runs",
        remark="Twelve of seventy runs do not decide. Counted as without the order, this would be open.",
    ),
    Claim(
        id="SR7",
        says=Says(
            holds="Copying is usually born before routing.",
            fails="Copying is usually not born before routing.",
            whether="whether copying is usually born before routing",
        ),
        reading=both(
            "runs, of those that decide under our definitions, with copying born before routing",
            partial(timing.copying_first, born_under=corrected_births),
            RUNS,
        ),
        rule=Share(),
        bound=MORE_OFTEN_THAN_NOT,
        controls=(_unborn(corrected_births, OURS, PAIR),),
        source="source",
        source_verdict="Shown, under the published gate",
        source_stance="by another definition",
    ),
    Claim(
        id="SR8.published",
        says=Says(
            holds="Dated as the source dates them, the motifs appear in no fixed order.",
            fails="Dated as the source dates them, the motifs have a usual order: more than half of the runs share it.",
            whether="whether the motifs, dated as the source dates them, lack a fixed order",
        ),
        reading=both(
            "runs with the commonest order of behaviour, copying and routing under the published gate",
            partial(timing.in_commonest_order, born_under=published_births),
            RUNS,
        ),
        rule=Share(),
        bound=NO_ORDER,
        controls=(_unborn(published_births, SOURCE),),
        source="source",
        source_verdict="Supported: four orders in six runs",
        remark="It rests on the gate: with the same scores and without it two runs of three share one order, and this "
        "would be open. That was counted in review.",
    ),
    Claim(
        id="SR8",
        says=Says(
            holds="The motifs appear in no fixed order.",
            fails="The motifs have a usual order: more than half of the runs share it.",
            whether="whether the motifs lack a fixed order",
        ),
        reading=both(
            "runs with the commonest order of behaviour, copying and routing under our definitions (births in one gap "
            "between checkpoints are a tie, which is an order too)",
            partial(timing.in_commonest_order, born_under=corrected_births),
            RUNS,
        ),
        rule=Share(),
        bound=NO_ORDER,
        controls=(_unborn(corrected_births, OURS),),
        source="source",
        source_verdict="Supported, under the published gate",
        source_stance="by another definition",
        remark="A tie counts as an order of its own. Where it counts for each order that it does not contradict, "
        "three quarters of the runs fit one, copying before behaviour before routing, and this would be Refuted.",
    ),
    Claim(
        id="SR9.published",
        says=Says(
            holds="Slot matching never becomes readable.",
            fails="Slot matching becomes readable in some run of {against} of {n} seeds.",
            whether="whether slot matching ever becomes readable",
        ),
        reading=both("births of the source's slot probe", timing.slot_probe_births, COUNT),
        rule=Every(each=at_most(0, "in no run")),
        bound=at_least(0.9, "one seed in ten is as good as none"),
        source="source",
        source_verdict="Supported: never in 6 of 6 runs",
        void="the source's probe is fitted on prompts of three pairs and its gate asks for every prompt of four, whose "
        "fourth slot the probe never saw, so that it cannot be born.",
    ),
    Claim(
        id="SR9",
        says=Says(
            holds="The slot is hardly readable at the arrow.",
            fails="The slot is readable at the arrow: a probe finds it on {effect} of prompts.",
            whether="whether the slot is readable at the arrow",
        ),
        reading=both(
            "accuracy of the slot probe, in the better run, on prompts of the length it was fitted on",
            better_run("probe_chosen", variable="matching_slot"),
        ),
        bound=at_most(0.6, "midway between a guess, 1/3, and the source's 0.85 for what is readable"),
        controls=(
            Control(
                reading=both(
                    "accuracy of the same probe for the query key",
                    lambda results: per_seed.mean_of_runs(
                        lambda arm: results.final_values("probe_chosen", arm, variable="query_key")
                    ),
                ),
                bound=OPERATOR,
            ),
        ),
        source="source",
        source_verdict="Supported, under a probe that cannot be born",
        source_stance="by another definition",
        remark="Its control could hardly fail, as the key can be read before training, too: it checks the code.",
    ),
)
