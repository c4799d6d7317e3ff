"""The tables and the figure of the appendix: every fork in which a part was changed, every network, every removal."""

import pandas as pd

from circuitcore.tasks.balanced_stream import BalancedStream
from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.circuit import METRICS
from retrieval_circuits.sgd_formation.readings.networks import removal_costs, total_looks
from retrieval_circuits.sgd_selection.design import (
    BOOSTED,
    BOOSTED_EARLY,
    DAMPED,
    DRAWN_FORK,
    ELSEWHERE,
    FROZEN,
    FROZEN_EARLY,
    HEADS,
    HELD,
    HELD_EARLY,
    LABEL,
    LAYER,
    NETWORKS,
    ORDERS,
    OTHERS_HEADS,
    OWN_HEADS,
    PARENT,
    forked,
)
from retrieval_circuits.sgd_selection.figures.chapter import OF_ORDERS, OVER_ORDERS, ROWS, address
from retrieval_circuits.sgd_selection.readings import forked_at, half_right, joined, predicted, winners


def every_change(results: Results) -> View:
    """Who wins in each fork in which a part was changed, order by order, and how well the forks read in the end."""
    found = []
    for arm in (*BOOSTED, *HELD, FROZEN, FROZEN_EARLY, *BOOSTED_EARLY, *HELD_EARLY, *DAMPED, *OWN_HEADS, *OTHERS_HEADS):
        won, read = winners(results, arm).sort_index(), results.final_values("accuracy", arm)
        right = half_right(results, arm)
        found.append({
            "arm": arm, "changed": arm, "winners": ", ".join(map(address, won)),
            "half of the reads right at": f"{right.min():,.0f} to {right.max():,.0f}",
            "right in the end": f"{100 * read.min():.0f} to {100 * read.max():.0f}\N{NO-BREAK SPACE}%",
        })  # fmt: skip
    return View(pd.DataFrame(found), "head", ROWS, note="By order of the data")


def every_other(results: Results) -> View:
    """Every network but the parent: its winner, when half is joined, and who wins its forks, order by order."""
    own, times = winners(results, NETWORKS), joined(results, NETWORKS)
    won = {arm: winners(results, arm).sort_index() for arm in ELSEWHERE}
    found = [
        {
            "arm": ELSEWHERE[0], "seed": seed, "winner": address(own[seed]), "half joined at": f"{times[seed]:,.0f}",
            **{
                f"from step {forked_at(results, arm):,}": ", ".join(
                    address(head) for label, head in heads.items() if forked(label) == seed
                )
                for arm, heads in won.items()
            },
        }
        for seed in sorted({forked(label) for label in won[ELSEWHERE[0]].index})
    ]  # fmt: skip
    return View(pd.DataFrame(found), "head", ROWS, note="By order of the data")


def forks_from_the_start(results: Results) -> View:
    """Forks of the other networks from their start: who wins, how well they read, and which heads look where."""
    arm = ELSEWHERE[0]
    won, read = winners(results, arm).sort_index(), results.final_values("accuracy", arm)
    most = lookers(results, arm)
    found = [
        {
            "arm": arm, "seed": forked(label), "order": label % LABEL, "winner": address(head),
            "right in the end": f"{100 * read[label]:.0f}\N{NO-BREAK SPACE}%",
            **{name: heads[label] for name, heads in most.items()},
        }
        for label, head in won.items()
    ]  # fmt: skip
    return View(pd.DataFrame(found), "head", ROWS, note="Of heads of any layer, with their mean attention")


def lookers(results: Results, arm: str) -> dict[str, dict[int, str]]:
    """Which head of any layer looks most from values to their keys in the end, and which at the value asked for."""
    looks = total_looks(results, arm)
    return {
        "looks most to keys": _leaders(results.at_final("joins", arm)),
        "looks most at the value": _leaders(looks[looks["step"] == looks["step"].max()]),
    }


def _leaders(rows: pd.DataFrame) -> dict[int, str]:
    """Of each run the head that has most, and how much."""
    most = rows.loc[rows.groupby("init_seed")["value"].idxmax()]
    names = zip(most["init_seed"], most["layer"], most["head"], most["value"], strict=True)
    return {seed: f"L{layer:.0f}H{head:.0f}, {value:.2f}" for seed, layer, head, value in names}


def every_network(results: Results) -> View:
    """The ten networks of the forecast: who wins and when, and whom push and score name at the first checkpoint."""
    won, times, right = winners(results, NETWORKS), joined(results, NETWORKS), half_right(results, NETWORKS)
    named = {metric: predicted(results, metric) for metric in ("push", "joins")}
    at = next(step for step in named["push"].columns if step > 0)
    found = [
        {
            "arm": NETWORKS, "seed": seed, "winner": address(won[seed]), "half joined at": f"{times[seed]:,.0f}",
            "half of the reads right at": f"{right[seed]:,.0f}",
            f"pushed most at step {at:,}": address(int(named["push"].loc[seed, at])),
            f"joins most at step {at:,}": address(int(named["joins"].loc[seed, at])),
        }
        for seed in won.index
    ]  # fmt: skip
    return View(pd.DataFrame(found), "head", ROWS, note="Times are training steps")


def removed_heads(results: Results) -> View:
    """What the removal of the winner costs each fork, and of one of the other heads of its layer on average."""
    found = []
    for arm in ORDERS:
        costs, won = removal_costs(results, arm, split=BalancedStream.reported), winners(results, arm)
        costs = costs[costs["site"].isin([f"L{LAYER}H{head}" for head in HEADS])]
        own = costs["site"] == costs["init_seed"].map(won).map(address)
        for name, rows in {"the winner": costs[own], "another head": costs[~own]}.items():
            means = rows.groupby("init_seed")["value"].mean().reset_index()
            found.append(means.assign(group=f"from step {forked_at(results, arm):,}", series=name, arm=arm))
    return View(pd.concat(found, ignore_index=True), "share of reads lost", ROWS, OVER_ORDERS, note=OF_ORDERS)


def drawn_moves(results: Results) -> View:
    """The tests behind the drawing: what each head carries of each move, in the parent and in the drawn fork."""
    found = []
    for arm, name in {PARENT: "the parent", DRAWN_FORK: "the fork"}.items():
        rows = results.rows("links", arm=arm).astype({"site": "str", "variable": "str", "metric": "str"})
        for (step, move), of_move in rows[rows["site"] != "none"].groupby(["step", "variable"]):
            shares = of_move[of_move["metric"] == METRICS[move][0]].set_index("site")["value"]
            each = {f"H{site[3:]}": f"{100 * share:.0f}\N{NO-BREAK SPACE}%" for site, share in shares.items()}
            found.append({"arm": arm, "network": name, "step": f"{step:,}", "move": move, **each})
    return View(pd.DataFrame(found), "share of rows", ROWS, note="H* is all heads of the layer together")


VIEWS = {
    view.__name__: view
    for view in (every_change, every_other, forks_from_the_start, every_network, removed_heads, drawn_moves)
}
