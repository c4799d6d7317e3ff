"""The table behind whether early answers are those of the rule that does without the key, and what its reads tell."""

import pandas as pd

from livingpaper.claims.results import Results
from livingpaper.claims.view import View
from retrieval_circuits.sgd_formation.design import FULL, REPORTED, SOURCE
from retrieval_circuits.sgd_formation.readings.networks import accuracy_curve, first_at_half

RULE = "2 back"
"""The rule as ``stream_scores`` calls it: the second last value written, with one write in between."""
MISSED, WRONG = "reads that the rule gets wrong", "of these, the rule's value"
RIGHT, BOTH = "of these, the right value", "of all reads, the rule's value"


def by_rule(results: Results) -> View:
    """What networks on the source's stream answer where the rule is wrong, once half of their reads are right."""
    found = []
    for arm in (SOURCE, FULL):
        if arm in results.arms:
            found.append(_of_arm(results, arm))
    table = pd.concat(found, ignore_index=True)
    note = (
        "Shares of reads, at the first checkpoint with half of them right. The rule: the value with 1 write in between"
    )
    return View(table, "shares of reads", "test rows of the source's stream", note=note)


def _of_arm(results: Results, arm: str) -> pd.DataFrame:
    """One row a network. Where the rule is right its value is the right one, so that accuracy tells both."""
    at = first_at_half(results, arm)
    of_all = accuracy_curve(arm)(results)
    given, right = (results.curve(metric, arm, split=REPORTED[arm], variable=RULE) for metric in ("gives", "right"))
    every, given, right = (
        rows[rows["step"] == rows["init_seed"].map(at)].set_index("init_seed")[["value", "n"]]
        for rows in (of_all, given, right)
    )
    wrong = given["n"] / every["n"]
    table = pd.DataFrame({
        "network": arm, "step": at.map("{:,.0f}".format), MISSED: wrong, WRONG: given["value"], RIGHT: right["value"],
        BOTH: every["value"] + wrong * (given["value"] - right["value"]),
    }).round(2)  # fmt: skip
    return table.rename_axis("init_seed").reset_index().assign(arm=arm)


def numbers(rule: View) -> dict[str, str]:
    """Name in the prose -> what small networks on the source's stream answer where the rule is wrong; and the range."""
    rows = rule.published
    rows = rows[rows["arm"] == SOURCE]
    of_wrong = {"rule_wrong": rows[MISSED], "rule_given": rows[WRONG], "rule_right": rows[RIGHT]}
    told = {name: f"{100 * shares.mean():.0f} %" for name, shares in of_wrong.items()}
    ends = {"rule_least": rows[WRONG].min(), "rule_most": rows[WRONG].max()}
    return told | {name: f"{100 * share:.0f} %" for name, share in ends.items()}


VIEWS = {by_rule.__name__: by_rule}
