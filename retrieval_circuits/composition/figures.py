"""The table behind each figure of the chapter, with what its caption must say."""

import itertools
import math
from collections.abc import Iterable

import pandas as pd

from circuitcore.emergence import by_the_end
from circuitcore.tasks.k_fold_composition import unable_to_stop
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from retrieval_circuits.composition.design import (
    ALONE_DEEP,
    ARMS,
    BY_DEPTH,
    COMPARED,
    FOLLOWED,
    FOUR,
    HOPS,
    IN_TURN,
    KEPT_BY_DEPTH,
    KEPT_TWO,
    N_HEADS,
    N_SYMBOLS,
    SHALLOW,
    STEPS_AN_EPOCH,
    STEPWISE,
    TAUGHT,
    WAYS,
    WORDS,
    Arm,
    Params,
    Way,
    hidden_of,
)
from retrieval_circuits.composition.published import ERRORS, FRONTIER
from retrieval_circuits.composition.readings import (
    ANSWERED,
    MAPS,
    QUERY,
    accuracy_curves,
    end_of,
    exchanged,
    final_accuracy,
    holds,
    hops_answered,
    look_ups_learnt,
    present,
    times,
)
from retrieval_circuits.design import BAND

SHOWN = (1, 2, 3, 4, 6, 8, 12, 16)
"""Numbers of hops whose published errors are drawn: all sixteen would not fit a phone."""
GUESS, UNABLE_TO_STOP = 1 / N_SYMBOLS, unable_to_stop(N_SYMBOLS, HOPS)
ACCURACY = "share of queries answered right"
ROWS = "held-out rows"
SHORT = dict(
    zip(
        (arm.way.name for arm in TAUGHT),
        ("alone", "mixed", "in turn", "one more a turn", "three left out", "reverse"),
        strict=True,
    )
)
"""What rows are called where names of ways are too long."""


def training(results: Results) -> View:
    """Accuracy by number of hops through training, a panel a way of training, all with three layers."""
    return _curves(results, {arm: arm.way.name for arm in COMPARED})


def depths(results: Results) -> View:
    """The same of the mixture, a panel a number of layers."""
    return _curves(results, {arm: f"{arm.n_layers} layers" for arm in BY_DEPTH})


def beyond(depths: View) -> str:
    """Of ``depths``: how many networks answer more hops than they have layers at the end, of those that are asked."""
    layers = {str(arm): arm.n_layers for arm in BY_DEPTH if arm.n_layers < HOPS}
    hops = {words: number for number, words in WORDS.items()}
    ends = _final(depths, layers)
    more = ends["series"].astype(str).map(hops) > ends["arm"].astype(str).map(layers)
    networks = (more & (ends["value"] >= ANSWERED)).groupby([ends["arm"].astype(str), ends["init_seed"]]).any()
    return f"{networks.sum()} of {len(networks)}"


def _final(view: View, arms: Iterable[str]) -> pd.DataFrame:
    """Of curves: the last rows of some arms' networks."""
    ends = view.published.sort_values("step", kind="stable")
    ends = ends.drop_duplicates(["arm", "init_seed", "series"], keep="last")
    return ends[ends["arm"].isin(arms)]


def answering(curves: View, hops: int, *arms: Arm) -> str:
    """Of ``shallow``: how many networks of some arms answer a number of hops at the end."""
    right = _right(curves, hops, arms) >= ANSWERED
    return f"{right.sum()} of {len(right)}"


def right_at_end(curves: View, hops: int, arm: Arm) -> str:
    """Of ``shallow`` or ``depths``: the share of queries of a number of hops that an arm's mean network gets right."""
    return f"{_right(curves, hops, [arm]).mean():.0%}"


def _right(curves: View, hops: int, arms: Iterable[Arm]) -> pd.Series:
    """The share of queries of a number of hops that each network of some arms gets right at the end."""
    ends = _final(curves, map(str, arms))
    return ends.loc[ends["series"] == WORDS[hops], "value"]


def turns(results: Results) -> View:
    """The same of networks of four layers: four hops alone, and numbers of hops in turn."""
    return _curves(results, {arm: arm.way.name for arm in (ALONE_DEEP, *IN_TURN)})


def shallow(results: Results) -> View:
    """The same of numbers of hops in turn with fewer layers."""
    return _curves(results, {arm: str(arm) for arm in SHALLOW})


def questions(hops: int) -> int:
    """How many there are of a number of hops: as many permutations, and a symbol to start from."""
    return math.factorial(N_SYMBOLS) ** hops * N_SYMBOLS


def times_asked(params: Params, hops: int) -> float:
    """How often a mixture of all numbers of hops asks each question of one of them, on average."""
    return params.steps * params.batch_size * params.n_queries / HOPS / questions(hops)


def turn_lengths(steps: int) -> str:
    """How many steps the turns of one to four hops last, in words."""
    *first, last = (f"{STEPS_AN_EPOCH * epochs:,}" for epochs in STEPWISE.turns(steps // STEPS_AN_EPOCH))
    return f"{', '.join(first)} and {last}"


def _curves(results: Results, panels: dict[Arm, str]) -> View:
    shown = present(results, tuple(panels))
    found = [accuracy_curves(results, arm).assign(panel=panels[arm], arm=str(arm)) for arm in shown]
    table = pd.concat(found, ignore_index=True).sort_values(["hops", "step"], kind="stable")
    table = in_order(table.assign(series=table["hops"].map(WORDS)), "panel", panels.values())
    ends = _ends(results)
    turns = {panels[arm]: begin_at(arm.way, ends[str(arm)]) for arm in shown if arm.way.parts}
    return View(
        table[["panel", "series", "step", "arm", "init_seed", "value"]], ACCURACY, ROWS, BAND, chance=GUESS,
        note=f"Answered: {ANSWERED:.0%} and more", turns=turns,
    )  # fmt: skip


def begin_at(way: Way, steps: int) -> tuple[int, ...]:
    """The steps at which each turn but the first begins, of a training of so many."""
    *first, _ = way.turns(steps // STEPS_AN_EPOCH)
    return tuple(STEPS_AN_EPOCH * epochs for epochs in itertools.accumulate(first))


def passing(results: Results) -> View:
    """When each number of hops is first answered, by way of mixing, with three layers."""
    return _first(in_order(_passing(results, COMPARED), "group", [way.name for way in WAYS]))


def arrivals(results: Results) -> View:
    """When three and four hops are first answered with four layers: four alone, mixed, and in turn."""
    table = _passing(results, TAUGHT)
    table = table[table["hops"] >= HOPS - 1].replace({"group": SHORT})
    return _first(in_order(table, "group", SHORT.values()))


def raced(arrivals: View, arm: Arm) -> dict[str, str]:
    """Of ``arrivals``: in how many networks four hops come with turns, or from the mixture, and which way is sooner.

    Returns:
        ``neither`` of all; ``either``, how many are left; of these ``sooner`` and ``later`` with turns, by at least two
        measurements.
    """
    table = arrivals.published
    rows = table[table["series"] == WORDS[HOPS]]
    turned, mixed = (rows[rows["arm"] == str(one)].set_index("init_seed") for one in (arm, FOUR))
    there = (turned["there"] | mixed["there"]).loc[turned.index.intersection(mixed.index)].astype(bool)
    before = (mixed["value"] - turned["value"])[there.index][there]
    bound = 2 * STEPS_AN_EPOCH
    counts = {"either": there.sum(), "sooner": (before >= bound).sum(), "later": (before <= -bound).sum()}
    return {"neither": f"{(~there).sum()} of {len(there)}"} | {name: str(count) for name, count in counts.items()}


def _passing(results: Results, arms: tuple[Arm, ...]) -> pd.DataFrame:
    found = [times(results, arm).assign(group=arm.way.name, arm=str(arm)) for arm in present(results, arms)]
    table = pd.concat(found, ignore_index=True)
    table = table.assign(**by_the_end(table["time"], table["arm"].map(_ends(results))))
    return table.assign(series=table["hops"].map(WORDS)).sort_values("hops", kind="stable")


def _first(table: pd.DataFrame) -> View:
    note = f"Measured every {STEPS_AN_EPOCH} steps, straight lines between. Open: not by the end, where it stands"
    columns = ["group", "series", "arm", "init_seed", "value", "there"]
    return View(table[columns], "training step", ROWS, BAND, note=note)


def _ends(results: Results) -> dict[str, int]:
    rows = results.curve("loss")
    return rows.groupby(rows["arm"].astype(str))["step"].max().to_dict()


def frontier(results: Results) -> View:
    """The most hops that networks answer, by layers that look up: two laws, our networks, and those of two others."""
    rows = {"ours, mixed": present(results, BY_DEPTH), "ours, one more a turn": present(results, KEPT_BY_DEPTH)}
    ours = pd.concat([hops_answered(results, *arms).assign(row=row) for row, arms in rows.items() if arms])
    ours["layers"] = ours["arm"].map({str(arm): arm.n_layers for arms in rows.values() for arm in arms})
    theirs = look_ups_learnt(results).assign(row="stacked heads")
    theirs["layers"] = theirs["n_layers"] - 1  # the first joins pairs
    theirs = theirs[theirs["layers"] > 0]
    measured = (
        pd.concat([ours, theirs], ignore_index=True).groupby(["row", "layers", "arm"], sort=False)["value"].mean()
    )
    found = measured.reset_index().to_dict("records")
    found += [{"row": "k-hop heads", "layers": n - 1, "value": k} for n, k in FRONTIER.items()]
    layers = sorted({line["layers"] for line in found})
    laws = [{"row": "one hop a layer", "layers": n, "value": n} for n in layers]
    laws += [{"row": "doubling", "layers": n, "value": 2**n - 1} for n in layers]
    table = pd.DataFrame([*laws, *found]).sort_values("layers", kind="stable")
    order = dict.fromkeys(line["row"] for line in [*laws, *found])
    table = in_order(table.assign(column=table["layers"].astype(str)), "row", order)
    return View(
        table[["row", "column", "value", "arm"]], "hops", "tests of each study",
        note="Columns: layers that look up; pairs of two words need one more. Asked for: up to "
        f"{HOPS} hops of ours, mixed or one more a turn, two of stacked heads, sixteen of others' k-hop "
        "heads. Ours are means over seeds and count from nine in ten right, k-hop heads are one network each and count "
        "from ninety-five in a hundred",
    )  # fmt: skip


def held(results: Results) -> View:
    """What streams hold after each layer of the networks with three layers, three hops being asked for."""
    return _held(results, FOLLOWED, 3)


def _held(results: Results, arm: Arm, hops: int) -> View:
    rows = exchanged(results, arm, MAPS, hops)
    done = rows["edit"].astype(str).str.removeprefix("hops_").astype(int)
    panel = rows["variable"].astype(str).str.removeprefix("maps_").map("words of permutation {}".format)
    maps = rows.assign(done=done, panel=panel)
    query = exchanged(results, arm, QUERY, hops)
    query = query.assign(done=query["variable"].astype(str).str.removeprefix("x_").astype(int), panel="the query")
    table = pd.concat([maps, query], ignore_index=True)
    table = table.groupby(["panel", "done", "after"], sort=True)["value"].mean().reset_index()
    table = table.assign(row=table["done"].map(_so_many_hops), column=table["after"].map(_after))
    panels = [f"words of permutation {hop}" for hop in range(1, hops + 1)] + ["the query"]
    table = in_order(table.sort_values(["done", "after"], kind="stable"), "panel", panels)
    return View(
        table[["panel", "row", "column", "value"]].assign(arm=str(arm)), "share of pairs", ROWS, chance=GUESS,
        note="Means over seeds. Columns: before the first layer, and after so many layers. Of the words of a "
        "permutation the hops are the last that lead to it. No hop: the answer stays; of the query, it goes on from "
        "the other row's start. A wrong prediction comes true in about one pair of four",
    )  # fmt: skip


def _so_many_hops(done: int) -> str:
    return "no hop" if not done else WORDS[done]


def _after(layers: int) -> str:
    return "before" if not layers else f"after {layers}"


HELD_BETWEEN = {
    "second: two hops": (MAPS, "maps_2", {"edit": "hops_2"}),
    "third: hops two and three": (MAPS, "maps_3", {"edit": "hops_2"}),
    "third: changes nothing": (MAPS, "maps_3", {"edit": "hops_0"}),
    "query: the first hop": (QUERY, "x_1", {}),
    "query: its start": (QUERY, "x_0", {}),
}
"""What words of a permutation, or the query, may hold between two layers -> metric, variable, and more columns of
``exchanged``."""


def held_two(results: Results) -> View:
    """What each network of two layers that was taught in turn holds between them, three hops being asked for."""
    found = {
        name: holds(KEPT_TWO, metric, 3, 1, variable=variable, **more)(results)
        for name, (metric, variable, more) in HELD_BETWEEN.items()
    }
    table = pd.concat(found, names=["group", "init_seed"]).rename("value").reset_index().assign(arm=str(KEPT_TWO))
    right = final_accuracy(KEPT_TWO, 3)(results) >= ANSWERED
    table["series"] = table["init_seed"].map(right).map({True: "answers three hops", False: "does not"})
    table = in_order(table.sort_values("series", kind="stable"), "group", HELD_BETWEEN)
    return View(
        table[["group", "series", "arm", "init_seed", "value"]], "share of pairs", ROWS, BAND, chance=GUESS,
        note="Words of the second and of the third permutation, and the query, after the first of two layers",
    )  # fmt: skip


def held_deep(results: Results) -> View:
    """The same of the networks with four layers, nearly all of which answer three hops."""
    return _held(results, FOUR, 3)


def errors(results: Results) -> View:
    """Errors by layers and number of hops: of others' networks with four heads and with eight, and of ours."""
    found = [
        {"panel": f"k-hop heads, {heads} heads", "layers": layers, "hops": hops, "value": wrong}
        for (layers, heads), by_hops in ERRORS.items()
        for hops, wrong in enumerate(by_hops, start=1)
        if hops in SHOWN
    ]
    for arm in present(results, BY_DEPTH):
        rows = accuracy_curves(results, arm)
        ends = 1 - rows[rows["step"] == rows["step"].max()].groupby("hops")["value"].mean()
        ours = {"panel": f"these networks, {N_HEADS} heads", "layers": arm.n_layers, "arm": str(arm)}
        found += [{**ours, "hops": hops, "value": wrong} for hops, wrong in ends.items()]
    table = pd.DataFrame(found)
    table = table.assign(row=table["layers"].map("{} layers".format), column=table["hops"].astype(str))
    table = in_order(table.sort_values(["layers", "hops"], kind="stable"), "panel", dict.fromkeys(table["panel"]))
    return View(
        table[["panel", "row", "column", "value", "arm"]], "share answered wrongly", "tests of each study",
        chance=1 - GUESS,
        note="Columns: hops. Ours are means over seeds, on four symbols; theirs are one network each, on four letters",
    )  # fmt: skip


def every_arm(results: Results) -> View:
    """Each arm: its networks, how many answer each number of hops at the end, and when the median network first does.

    A dash where a number of hops is not asked for in training, "never" where the median does not by the end. Networks
    that share hidden permutations are one draw.
    """
    found = []
    for arm in present(results, ARMS):
        rows, first = accuracy_curves(results, arm), times(results, arm)
        ends = rows[rows["step"] == rows["step"].max()]
        seeds = rows["init_seed"].unique()
        draws = {hidden_of(int(seed)) for seed in seeds}
        line = {"arm": str(arm), "networks (draws)": f"{len(seeds)} ({len(draws)})"}
        for hops, words in WORDS.items():
            answering = (ends[ends["hops"] == hops]["value"] >= ANSWERED).sum()
            median, asked = first[first["hops"] == hops]["time"].median(), hops in (arm.way.mixed or arm.way.in_turn)
            when = f"{median:,.0f}" if median <= end_of(results, arm) else "never"
            line[words] = f"{answering} ({when if asked else '–'})"
        found.append(line)
    note = "Networks that answer at the end, and the training step at which the median network first does"
    return View(pd.DataFrame(found), "as named", ROWS, note=note)


CHAPTER = (training, turns, shallow, arrivals, depths, passing, frontier, held)
VIEWS = {view.__name__: view for view in (*CHAPTER, held_two, held_deep, errors, every_arm)}
