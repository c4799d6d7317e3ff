"""The tables behind the appendix: what was measured and not needed for the argument, and the source's numbers."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View, beside, in_order
from retrieval_circuits.bigrams_and_composition.design import (
    EVERYTHING,
    JOINT,
    LEARNING,
    LETTERS,
    NOISY,
    ONE,
    STEPS,
    WAYS,
    WITH_ADAM,
)
from retrieval_circuits.bigrams_and_composition.figures.chapter import (
    CUT,
    FEW_PAIRS,
    NO_PROMPTS,
    PROMPTS,
    through_training,
)
from retrieval_circuits.bigrams_and_composition.measures import ATTENTION, K1, K2, MLP, O2, ORDERS
from retrieval_circuits.bigrams_and_composition.published import PUBLISHED
from retrieval_circuits.bigrams_and_composition.readings import (
    MEMORIES,
    formed,
    last,
    learnt,
    least_gap,
    needed_power,
    noisy_end,
)
from retrieval_circuits.design import BAND

SOME = 0.25
"""Share of pairs, recalled in the end, below which a matrix has no time of forming: more than one trigger of five."""
ELSEWHERE = "letters, three matrices trained", "generated, everything trained"


def by_samples(results: Results) -> View:
    """What the worst of three matrices recalls after three steps, by their order and the rows of a step."""
    orders = [", ".join(order) for order in ORDERS]
    rows = results.rows(STEPS, order=orders).sort_values("samples", kind="stable")
    table = rows.assign(
        group=rows["order"].astype(str),
        series=rows["samples"].map("{:,} rows a step".format),
        value=rows[list(MEMORIES)].min(axis=1),
    )
    table = in_order(table[["group", "series", "arm", "init_seed", "value"]], "group", orders)
    note = f"The last order is the one that the slide prints. {FEW_PAIRS}"
    return View(table, "share of pairs, worst of three matrices", NO_PROMPTS, BAND, note=note)


def training_elsewhere(results: Results) -> View:
    """What each matrix recalls through training: on letters, and in a decoder of which everything is trained."""
    found = [
        rows.assign(panel=panel)
        for panel, rows in zip(ELSEWHERE, (results.rows(LETTERS, way=JOINT), results.rows(EVERYTHING)), strict=True)
    ]
    return through_training(pd.concat(found, ignore_index=True), ELSEWHERE)


def every_network(results: Results) -> View:
    """Networks of two layers on generated sources: when each memory forms, what it recalls in the end, accuracy."""
    found = []
    for way in (way.name for way in WAYS if way.name != ONE):
        rows = results.rows(LEARNING, way=way)
        ends = last(rows)
        table = pd.DataFrame({"way": way, "init_seed": ends.index})
        for memory in MEMORIES:
            steps = formed(rows, memory).reindex(ends.index).where(ends[memory] >= SOME)
            table[f"{memory} forms"] = [f"{step:,.0f}" if step >= 0 else "" for step in steps]
            table[f"{memory} recalls"] = ends[memory].map("{:.2f}".format).to_numpy()
        found.append(table.assign(accuracy=ends["accuracy"].map("{:.2f}".format).to_numpy(), arm=LEARNING))
    note = "A matrix forms at a training step; what it recalls and accuracy are shares, at the end"
    return View(pd.concat(found, ignore_index=True), "as named", NO_PROMPTS, note=note)


def cut_through_training(results: Results) -> View:
    """The share of positions answered from the context through training of the noisy task, by what is removed."""
    rows = results.rows(NOISY, cut=list(CUT))
    rows = rows.assign(series=rows["cut"].astype(str).map(CUT), value=rows["accuracy"], panel="answered from context")
    table = in_order(rows[["panel", "series", "step", "arm", "init_seed", "value"]], "series", CUT.values())
    return View(table, "share of scored positions", PROMPTS, BAND, note="Rows without noise")


def numbers(results: Results) -> View:
    """The source's numbers beside ours; its rows are longer, and its vocabulary is that of a corpus."""
    joint, adam = (results.rows(LEARNING, way=way) for way in (JOINT, WITH_ADAM))
    on_letters = last(results.rows(LETTERS, way=ONE))
    generated = last(results.rows(LEARNING, way=ONE))
    ours = {
        "accuracy of one layer, generated tokens": learnt(ONE)(results),
        "accuracy of one layer, letters": on_letters["accuracy"],
        "accuracy of two layers, generated tokens": learnt(JOINT)(results),
        "accuracy of two layers, letters": learnt(JOINT, task=LETTERS)(results),
        "steps from the first memory to the second": formed(joint, K2) - formed(joint, O2),
        "steps from the second memory to the third": formed(joint, K1) - formed(joint, K2),
        "the smaller of the two, by Adam": least_gap(adam),
        "entropy of a letter, nats": on_letters["entropy"],
        "entropy of a letter given the one before, nats": on_letters["pair_entropy"],
        "entropy of a generated token, nats": generated["entropy"],
        "entropy of a generated token given the one before, nats": generated["pair_entropy"],
        "probability of the noise token at the end": noisy_end("noise")(results),
        "power of N of the rows that the MLP needs": needed_power(MLP)(results),
        "power of N of the rows that attention needs": needed_power(ATTENTION)(results),
    }
    return beside(PUBLISHED, {quantity: values.round(6) for quantity, values in ours.items()})


APPENDIX_VIEWS = {
    view.__name__: view for view in (by_samples, training_elsewhere, every_network, cut_through_training, numbers)
}
