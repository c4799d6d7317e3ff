"""What claims and figures read: how well networks read, whether they look at the key, and when parts appear."""

from collections.abc import Callable

import pandas as pd

from circuitcore.emergence import crossing_times
from livingpaper.claims.reading import OfArms, OfExperiment, OfMetric, at_end, of_arms, of_experiment
from livingpaper.claims.results import Results
from livingpaper.claims.units import Unit
from retrieval_circuits.bounds import BEHAVIOUR
from retrieval_circuits.sgd_formation.design import FRESH, FULL, HALF, OUR_RULES, REPORTED, SOURCE_FLOOR, SOURCE_RULES
from retrieval_circuits.sgd_formation.measures.benchmark import ANY, BEST
from retrieval_circuits.sgd_formation.measures.floors import ALL
from retrieval_circuits.sgd_formation.measures.probe_set import ALL_PROBED

LAYER = Unit(name="", digits=1, low=0)
SHORTEST, LONGEST = "lag 0", "lag 9"
"""How the reads of the last write, and of the oldest, are called in ``accuracy``."""


def best_rule(split: str) -> OfExperiment:
    """Values of a reading: accuracy of the best rule of the family on a split of the source's stream, by data set."""
    return of_experiment(SOURCE_RULES, split=split, rule=BEST, keys=ANY)


@of_arms(SOURCE_RULES)
def best_rule_above(results: Results) -> pd.Series:
    """The same on the test split, less the accuracy of a guess among current values."""
    chance = of_experiment(SOURCE_RULES, "chance", split="test_iid", rule=BEST, keys=ANY)
    return best_rule("test_iid")(results) - chance(results)


@of_arms(OUR_RULES)
def our_worst_rule(results: Results) -> pd.Series:
    """How far above a guess the best rule is on the split of ours on which it is farthest, by data set."""
    rows = results.rows(OUR_RULES, rule=BEST, keys=ANY)
    return (rows["value"] - rows["chance"]).groupby(rows["init_seed"]).max()


floor = of_experiment(SOURCE_FLOOR, split="train", part=ALL)
"""Values of a reading: the least loss that anybody can have on new rows of the source's stream, nats a token."""
untrained = of_experiment(SOURCE_RULES, "untrained", split="structural_ood", rule=BEST, keys=ANY)
"""Values of a reading: the share of reads of "structural_ood" at positions at which nothing is read in training."""


def accuracy(arm: str, split: str = "", variable: str = "") -> OfMetric:
    """Values of a reading: share of reads answered right at the end, one number a seed."""
    return at_end("accuracy", arm, split=split or REPORTED[arm], variable=variable)


def reads_at_end(results: Results, arm: str = FRESH) -> pd.Series:
    """Whether a network of an arm reads at the end, answers nine in ten; by seed."""
    return accuracy(arm)(results) >= BEHAVIOUR.value


def of_readers(rows: pd.DataFrame, results: Results, arm: str = FRESH) -> pd.DataFrame:
    """Rows of the networks of an arm that read at the end; all where none does, as in a reader's short trial."""
    reads = rows["init_seed"].map(reads_at_end(results, arm))
    return rows[reads] if reads.any() else rows


def word_loss(arm: str, split: str = "") -> OfMetric:
    """Values of a reading: cross-entropy of every word of a row at the end, nats a word, one number a seed."""
    return at_end("loss_of_all", arm, split=split or REPORTED[arm])


def off_the_published(accuracy: float) -> OfArms:
    """Values of a reading: how far the end of the source's network, trained again, is from a published accuracy.

    Either way, on the source's probe set.
    """

    @of_arms(FULL)
    def values(results: Results) -> pd.Series:
        return (probe_end(results) - accuracy).abs()

    return values


@of_arms(FULL)
def probe_end(results: Results) -> pd.Series:
    """Accuracy of the source's network on its whole probe set at the end, one number a seed."""
    return probe_curve(results, "accuracy", ALL_PROBED).sort_values("step").groupby("init_seed")["value"].last()


def probe_curve(results: Results, metric: str, split: str) -> pd.DataFrame:
    """What the source follows on its probe set, through its network's training: ``arm init_seed step value``."""
    rows = results.rows("probe", arm=FULL, metric=f"probe_{metric}", split=split)
    return rows[["arm", "init_seed", "step", "value"]]


def after_swap(arm: str, how: str) -> OfMetric:
    """Values of a reading: with another key asked for, how often the answer ``follows`` it, or ``stays``."""
    return at_end("swapped", arm, variable=how)


def unmoved_at_half(arm: str) -> OfArms:
    """Values of a reading: with another key asked for, how often the answer is what it was, right or wrong.

    At the first checkpoint at which half of the reads are answered right; at the last one where none is.
    """

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        rows = results.curve("unmoved", arm)
        return rows[rows["step"] == rows["init_seed"].map(first_at_half(results, arm))].set_index("init_seed")["value"]

    return values


def first_at_half(results: Results, arm: str) -> pd.Series:
    """By seed, the step of the first checkpoint with half of the reads right; the last one where none has."""
    wide = accuracy_curve(arm)(results).pivot(index="init_seed", columns="step", values="value").sort_index(axis=1)
    reached = wide >= HALF
    return reached.idxmax(axis=1).where(reached.any(axis=1), wide.columns[-1])


def accuracy_curve(arm: str, variable: str = "") -> Callable[[Results], pd.DataFrame]:
    """Accuracy through training (of one lag, say), on the reported split: ``init_seed step value`` and more."""
    return lambda results: results.curve("accuracy", arm, split=REPORTED[arm], variable=variable)


def half_time(arm: str) -> "Timed":
    """Values of a reading: when half of the reads are answered right."""
    return Timed(arm, accuracy_curve(arm), HALF)


def part_time(arm: str, part: float) -> "Timed":
    """Values of a reading: when accuracy reaches a part of what it is at the end."""
    return Timed(arm, accuracy_curve(arm), part=part)


def probe_time(part: float) -> "Timed":
    """Values of a reading: when accuracy on the source's probe set reaches a part of what it is at the end."""
    return Timed(FULL, lambda results: probe_curve(results, "accuracy", ALL_PROBED), part=part)


def following_time(arm: str) -> "Timed":
    """Values of a reading: when half of the answers follow another key that is asked for to its value."""
    return Timed(arm, lambda results: results.curve("swapped", arm, variable="follows"), HALF)


def crossing(curve: pd.DataFrame, level: pd.Series | float) -> pd.Series:
    """When a seed's curve (``init_seed``, ``step``, ``value``) gets to a level; where it never does, the last step."""
    curve = curve[["init_seed", "step", "value"]]
    return crossing_times(curve, level).clip(upper=curve.groupby("init_seed")["step"].max().astype(float))


def learning_time(arm: str, variable: str = "") -> "Timed":
    """Values of a reading: when accuracy (of one lag, say) has come half the way to its end."""
    return Timed(arm, accuracy_curve(arm, variable))


def looking_time(arm: str) -> "Timed":
    """Values of a reading: when the head that looks most at the value asked for has come half the way."""
    return Timed(arm, lambda results: head_curve(results, arm))


def joining_time(arm: str) -> "Timed":
    """Values of a reading: when the head that looks most from values to their keys has come half the way to its end."""
    return Timed(arm, lambda results: joining_curve(results, arm))


class Timed:
    """Values of a reading: when a curve reaches a level, or a part of where it ends, one number a seed."""

    def __init__(
        self, arm: str, curve: Callable[[Results], pd.DataFrame], level: float | None = None, part: float = HALF
    ):
        self.arms, self._curve, self._level, self._part = (arm,), curve, level, part

    def __call__(self, results: Results) -> pd.Series:
        """The step of each seed."""
        return crossing(*self._asked(results))

    def reached(self, results: Results) -> pd.Series:
        """The same, but inf where a curve never gets there."""
        curve, level = self._asked(results)
        return crossing_times(curve[["init_seed", "step", "value"]], level)

    def _asked(self, results: Results) -> tuple[pd.DataFrame, pd.Series | float]:
        curve = self._curve(results)
        ends = curve.sort_values("step").groupby("init_seed")["value"].last()
        return curve, self._part * ends if self._level is None else self._level


def total_looks(results: Results, arm: str) -> pd.DataFrame:
    """Attention of every head from reads to the value asked for, where it was written or read before."""
    rows = results.curve("attention", arm, site=["support", "answered"])
    keys = ["arm", "init_seed", "run_id", "step", "layer", "head"]
    return rows.groupby(keys, observed=True, as_index=False)["value"].sum()


def head_curve(results: Results, arm: str) -> pd.DataFrame:
    """The same of the head that has most at the end of its network's training."""
    return _of_leader(total_looks(results, arm))


def joining_curve(results: Results, arm: str, **where: int) -> pd.DataFrame:
    """Attention from written values to their keys, of the head that has most at the end of its network's training.

    ``where`` names the heads that are asked, ``layer=0``; else all.
    """
    return _of_leader(results.curve("joins", arm, **where))


def _of_leader(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the head whose value is largest at the last step, network by network."""
    last = rows[rows["step"] == rows.groupby("run_id", observed=True)["step"].transform("max")]
    leader = last.loc[last.groupby("run_id", observed=True)["value"].idxmax(), ["run_id", "layer", "head"]]
    return rows.merge(leader, on=["run_id", "layer", "head"])


def leaders(results: Results, arm: str) -> pd.DataFrame:
    """The head of each network that looks most at the value asked for at the end: ``init_seed layer head value``."""
    rows = head_curve(results, arm)
    return rows[rows["step"] == rows["step"].max()][["init_seed", "layer", "head", "value"]]


def removal_costs(results: Results, arm: str, how: str = "zero", split: str = "") -> pd.DataFrame:
    """How much accuracy each part's removal costs: ``init_seed``, ``site``, ``value``."""
    rows = results.rows("removed", arm=arm, metric="removed_accuracy", split=split or REPORTED[arm])
    costs = lost(rows.astype({"site": "str", "edit": "str"}))
    return costs[costs["edit"] == how]


def lost(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of what is left of accuracy without parts, as what it lacks of the whole network's (edit "none")."""
    edited = rows["edit"] != "none"
    whole, parts = rows[~edited].groupby("init_seed")["value"].first(), rows[edited]
    return parts.assign(value=parts["init_seed"].map(whole) - parts["value"])


def cost_of_leader(arm: str) -> OfArms:
    """Values of a reading: what removing the head that looks most at the value asked for costs."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        return _leader_and_others(results, arm)[0]

    return values


def cost_of_others(arm: str) -> OfArms:
    """Values of a reading: what removing one of the other heads of its layer costs, on average."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        return _leader_and_others(results, arm)[1]

    return values


def _leader_and_others(results: Results, arm: str) -> tuple[pd.Series, pd.Series]:
    costs = removal_costs(results, arm)
    leader = costs["init_seed"].map(leader_sites(results, arm))
    own = costs["site"] == leader
    beside = (costs["site"].str[:3] == leader.str[:3]) & ~own
    return costs[own].set_index("init_seed")["value"], costs[beside].groupby("init_seed")["value"].mean()


def margin_share(arm: str, site: str) -> OfArms:
    """Values of a reading: the share of the margin that a part writes directly; "leader": the head that looks most."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        rows = results.rows("margin_parts", arm=arm).astype({"site": "str"})
        whole = rows[rows["metric"] == "margin"].set_index("init_seed")["value"]
        wanted = rows["init_seed"].map(leader_sites(results, arm)) if site == "leader" else site
        part = rows[(rows["metric"] == "margin_part") & (rows["site"] == wanted)].set_index("init_seed")["value"]
        return part / whole

    return values


def leader_sites(results: Results, arm: str) -> pd.Series:
    """The address of the head that looks most at the value asked for at the end, by seed."""
    return _addresses(head_curve(results, arm))


def joiner_sites(results: Results, arm: str) -> pd.Series:
    """The address of the head that looks most from written values to their keys at the end, by seed."""
    return _addresses(joining_curve(results, arm))


def _addresses(rows: pd.DataFrame) -> pd.Series:
    top = rows.drop_duplicates("init_seed").set_index("init_seed")[["layer", "head"]].astype(int).astype(str)
    return "L" + top["layer"] + "H" + top["head"]


def layer_of(arm: str) -> OfArms:
    """Values of a reading: the layer of the head that looks most at the value asked for."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        return leaders(results, arm).set_index("init_seed")["layer"].astype(int)

    return values


@of_arms(FRESH)
def apart(results: Results) -> pd.Series:
    """Steps between half of the attention to the value asked for and half of the accuracy, whichever is first."""
    return (learning_time(FRESH)(results) - looking_time(FRESH)(results)).abs()


def cost_of_part(arm: str, site: str) -> OfArms:
    """Values of a reading: what removing one part costs."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        costs = removal_costs(results, arm)
        return costs[costs["site"] == site].set_index("init_seed")["value"]

    return values


def without_neurons(site: str, which: str, how: str = "mean") -> OfArms:
    """Values of a reading: share of reads answered right without some neurons of an MLP: "top 8", "drawn 8", "all"."""

    @of_arms(FRESH)
    def values(results: Results) -> pd.Series:
        where = {"site": site, "variable": which, "edit": how}
        return results.rows("neurons", arm=FRESH, metric="neurons_accuracy", **where).set_index("init_seed")["value"]

    return values


def dearest_head(arm: str, layer: int) -> OfArms:
    """Values of a reading: the most that removing a single head of a layer costs."""

    @of_arms(arm)
    def values(results: Results) -> pd.Series:
        costs = removal_costs(results, arm)
        return costs[costs["site"].str.startswith(f"L{layer}H")].groupby("init_seed")["value"].max()

    return values
