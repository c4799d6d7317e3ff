"""The tables behind what both streams are, and how often rules without the key are right on them."""

import math

import pandas as pd

from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.tasks.stream_kv import StreamKV
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import (
    FIXED,
    FIXED_STEPS,
    FRESH,
    FULL,
    LARGE,
    OUR_RULES,
    SOURCE,
    SOURCE_RULES,
    Params,
)
from retrieval_circuits.sgd_formation.measures import SIZES
from retrieval_circuits.sgd_formation.measures.benchmark import ANY, BEST, OF_KIND, TRIED

N_SHOWN = 31
"""Words of a stream that the example shows at least: ten writes and reads."""
GUESS = "a guess among current values"
SPLITS = {
    "train": "rows trained on",
    "test": "new rows",
    "heldout_pairs": "pairs never trained on",
    "heldout_twins": "the same rows, pairs trained on",
    "structural_ood": "more keys",
}


def rules(results: Results) -> View:
    """How often rules are right on the test splits of both streams, over data sets, beside a guess."""
    found = []
    for name, experiment, split in ((SOURCE, SOURCE_RULES, "test_iid"), ("ours", OUR_RULES, "test")):
        rows = results.rows(experiment, split=split, keys=ANY)
        rows = rows[rows["rule"].isin(RULES)]
        wide = rows.pivot(index="init_seed", columns="rule", values="value")
        wide[GUESS] = rows.groupby("init_seed")["chance"].first()
        long = wide.rename(columns=RULES).reset_index().melt("init_seed", var_name="group")
        found.append(long.assign(series=name, arm=experiment))
    table = in_order(pd.concat(found, ignore_index=True), "group", (GUESS, *RULES.values()))
    return View(
        table, "share of reads answered right", "test rows of each data set", BAND,
        note="Each seed draws a data set; nothing is trained",
    )  # fmt: skip


RULES = {
    TRIED: "the best of the source's heuristics",
    "the value written 2 writes back": "the value with 1 write in between",
    BEST: "the best rule without the key",
    "of the values 2 and 3 writes back the one with the key": "of those with 1 and 2, the one whose key is asked for",
}
"""What a rule is called in the figure."""


def of_design(params: Params) -> dict[str, str]:
    """Name in the prose -> how long networks train, on how many rows where these are fixed, and on which words."""
    source, ours = StreamKV(n_train=1, n_eval=1).words, BalancedStream(**SIZES).words
    counts = {
        "n_steps_source": params.source_steps, "n_steps_ours": params.steps, "n_steps_full": params.full_steps,
        "n_steps_fixed": min(params.steps, FIXED_STEPS), "n_steps_first": FIXED_STEPS, "n_rows_fixed": params.n_train,
        "n_keys": ours.n_keys, "n_values_ours": ours.n_values, "n_values_source": source.n_values,
    }  # fmt: skip
    return {name: f"{count:,}" for name, count in counts.items()}


def levels(rules: View) -> dict[str, str]:
    """Name in the prose -> how often a guess and the best rule without the key are right, on either stream."""
    rows = rules.published
    means = rows.groupby(["series", "group"], observed=True)["value"].mean()
    named = {"guess": GUESS, "best": RULES[BEST]}
    return {
        f"{name}_{which}": f"{100 * means[stream, group]:.0f} %"
        for name, group in named.items()
        for which, stream in {"source": SOURCE, "ours": "ours"}.items()
    }


def guesses_of(results: Results) -> dict[str, float]:
    """Arm -> how often a guess among the current values is right on its stream."""
    of = {
        stream: float(results.rows(experiment, split=split, keys=ANY, rule=BEST)["chance"].mean())
        for stream, experiment, split in ((SOURCE, SOURCE_RULES, "test_iid"), ("ours", OUR_RULES, "test"))
        if experiment in results.arms
    }
    arms = (SOURCE, FIXED, FRESH, FULL, LARGE)
    return {arm: of.get(SOURCE if arm in (SOURCE, FULL) else "ours", math.nan) for arm in arms}


def example(results: Results) -> View:
    """The beginning of one stream of each kind, in words: ten writes and reads, or as far as its first read."""
    found = []
    for name, task in {SOURCE: StreamKV(n_train=1, n_eval=1), "ours": BalancedStream(**SIZES)}.items():
        row = task.draw("test", 1, 0).tokens[0] if name == "ours" else task.split(task.reported).tokens[0]
        words = task.decode(row).split()
        shown = max(N_SHOWN, words.index(task.vocab[task.words.read]) + 3)  # a read is three words
        found.append({"stream": name, "its first words": " ".join(words[:shown]) + " ..."})
    return View(pd.DataFrame(found), "one row", "test")


SPLITS_OF_BOTH = {SOURCE_RULES: (SOURCE, ("test_iid", "heldout_pairs", "structural_ood")), OUR_RULES: ("ours", SPLITS)}


def every_rule(results: Results) -> View:
    """How often the best rule of each kind is right, by stream, rows and number of keys; means over data sets."""
    found = []
    for experiment, (stream, splits) in SPLITS_OF_BOTH.items():
        rows = results.tables[experiment]
        rows = rows[rows["split"].isin(list(splits))].assign(stream=stream)
        found.append(rows[rows["rule"].str.startswith(OF_KIND.format("")) | (rows["rule"] == TRIED)])
    rows = pd.concat(found, ignore_index=True)
    rows = rows.assign(keys=rows["keys"].map(lambda keys: "any" if keys == ANY else str(keys)))
    rows["rule"] = rows["rule"].replace(TRIED, "the source's three").str.removeprefix(OF_KIND.format(""))
    by = ["stream", "split", "keys"]
    rules = rows.pivot_table(index=by, columns="rule", values="value", sort=False)
    shares = rows.groupby(by, sort=False)[["chance", "untrained"]].mean()
    names = {"chance": "a guess", "untrained": "at untrained positions"}
    table = shares.join(rules).rename(columns=names).reset_index()
    table["split"] = table["split"].replace("test_iid", "test").map(SPLITS)
    return View(table.rename(columns={"split": "rows"}), "share of reads", "each split")


VIEWS = {view.__name__: view for view in (example, rules, every_rule)}
