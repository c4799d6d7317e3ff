"""What carries another row's answer in the drawn network, and in others like it, as the appendix shows and tells it."""

import pandas as pd

from circuitcore.tasks.balanced_stream import LONGER, BalancedStream
from livingpaper.claims.results import Results
from livingpaper.claims.view import View, in_order
from livingpaper.figures.verdict_text import NOT_MEASURED
from retrieval_circuits.design import BAND
from retrieval_circuits.sgd_formation.design import DRAWN, OTHERS, SHOWN_AT, Params
from retrieval_circuits.sgd_formation.measures.counterfactuals import ASKED_KEY, STORED_KEY, STORED_VALUE
from retrieval_circuits.sgd_formation.measures.hypotheses import (
    BRINGS,
    BY_LOT,
    DIRECTION,
    LOOKS,
    OTHER,
    PATH,
    SAME,
    WRITES,
)
from retrieval_circuits.sgd_formation.readings.carried import (
    OWN_TO_QUERIES,
    OWN_TO_VALUES,
    SECOND,
    TO_KEYS,
    TO_QUERIES,
    TO_VALUES,
    at_last_step,
    shares_at_end,
    shares_of_change,
)

KINDS = (ASKED_KEY, STORED_KEY, STORED_VALUE)
NEW_ROWS = BalancedStream.reported
PARTS = {
    LOOKS: "where they look", BRINGS: "what they bring", WRITES: "all they write", DIRECTION: "along the answers",
    BY_LOT: "along a direction by lot",
}  # fmt: skip
"""Hypothesis -> the column that shows it."""
LEAST_SHARE = 0.1
"""Of the change: heads that carry so much alone are listed."""
N_PATHS = 4
INPUTS = {"q": "queries", "k": "keys", "v": "values"}
SHARE = "share of the change of the margin"
COMPARED = {
    (ASKED_KEY, LOOKS, SECOND): "key asked for: looks",
    (ASKED_KEY, BRINGS, SECOND): "key asked for: what is brought",
    (ASKED_KEY, PATH, TO_QUERIES): "key asked for: first MLP into queries",
    (ASKED_KEY, PATH, OWN_TO_QUERIES): "key asked for: embedding into queries",
    (STORED_KEY, PATH, TO_KEYS): "stored keys: heads, MLP, into keys",
    (STORED_VALUE, LOOKS, SECOND): "stored value: looks",
    (STORED_VALUE, BRINGS, SECOND): "stored value: what is brought",
    (STORED_VALUE, PATH, TO_VALUES): "stored value: first MLP into values",
    (STORED_VALUE, PATH, OWN_TO_VALUES): "stored value: embedding into values",
}
"""In what two rows differ, and the hypothesis and site of a part that may carry it -> what a reader calls that."""
MORE_KEYS = "{}, more keys"


def carried(results: Results) -> View:
    """What the heads of each layer together carry of another answer, on new rows, at each step that is shown."""
    shares = layer_shares(results)
    found = []
    for (step, differs, site), part in shares.table.groupby(["step", "variable", "site"]):
        of = {family: rows.set_index("edit")["share"] for family, rows in part.groupby("family")}
        found.append({
            "arm": DRAWN, "step": f"{step:,}", "what differs": differs, "heads": site,
            "change, logits": f"{part['change'].iloc[0]:.1f}",
            **{name: _text(of[OTHER][edit]) for edit, name in PARTS.items()},
            "same answer, at most": _text(of[SAME].abs().max()),
        })  # fmt: skip
    return View(_by_kind(found), SHARE, shares.split)


def layer_shares(results: Results) -> View:
    """The numbers behind ``carried``: a ``share`` and what it is of, by step, what differs, heads and hypothesis."""
    shares = shares_of_change(results, DRAWN)
    layers = shares[shares["site"].map(_is_layer) & (shares["split"] == NEW_ROWS)]
    columns = ["arm", "init_seed", "step", "variable", "site", "edit", "family", "share", "change", "n"]
    return View(layers[columns].reset_index(drop=True), SHARE, _rows_behind(shares))


def numbers(params: Params, view: View) -> dict[str, str]:
    """Name in the prose -> number in words, from ``layer_shares``; of published runs where a reader's are beside."""
    table = view.published
    first, middle, end = *SHOWN_AT, int(table["step"].max())
    other = table[table["family"] == OTHER].set_index(["step", "variable", "site", "edit"]).sort_index()

    def of(edit: str, *variables: str, at: tuple[int, ...] = (first,)) -> pd.DataFrame:
        return other.query("edit == @edit and variable in @variables and site == 'L1H*' and step in @at")

    def along(*at: int) -> str:
        parts = (of(edit, *KINDS, at=at)["share"].droplevel("edit") for edit in (DIRECTION, WRITES))
        return _percent(next(parts) / next(parts))

    written = other.query("edit == @WRITES and variable == @ASKED_KEY and step == @end")["share"]
    lot, same = other.query("edit == @BY_LOT")["share"].abs(), table[table["family"] == SAME]
    return {
        "n_pairs": f"{table['n'].max()}",
        **{f"step_{name}": f"{step:,}" for name, step in (("first", first), ("middle", middle), ("end", end))},
        "by_no_heads": _percent(pd.Series([1 - written.sum(min_count=1)])),
        "width": f"{params.d_model}",
        "by_chance": f"{100 / params.d_model:.1f} %",
        "by_lot_most": _percent(pd.Series([lot.max()])),
        "along_before": along(first, middle),
        "along_end": along(end),
        "brought_first": _percent(of(BRINGS, STORED_VALUE)["share"]),
        "looked_first": _percent(of(LOOKS, ASKED_KEY)["share"]),
        "logits_of_value": _logits(of(BRINGS, STORED_VALUE)["change"]),
        "logits_of_key": _logits(of(LOOKS, ASKED_KEY)["change"]),
        "same_first": _percent(pd.Series([same.loc[same["step"] == first, "share"].abs().max()])),
    }


def carrying_heads(results: Results) -> View:
    """The heads that carry a tenth or more alone on new rows at the end, and all of each layer; with more keys, too.

    What a head carries by where it looks, or by what it brings.
    """
    shares = at_last_step(shares_of_change(results, DRAWN))
    part = shares[shares["edit"].isin((LOOKS, BRINGS)) & (shares["family"] == OTHER)]
    wide = part.pivot(index=["variable", "site"], columns=["edit", "split"], values="share")
    found = []
    for (differs, site), row in wide.iterrows():
        if _is_layer(site) or (row.xs(NEW_ROWS, level="split") >= LEAST_SHARE).any():
            columns = {
                form.format(PARTS[edit]): _text(row[edit, split])
                for edit in (LOOKS, BRINGS)
                for split, form in ((NEW_ROWS, "{}"), (LONGER, MORE_KEYS))
            }
            found.append({"arm": DRAWN, "what differs": differs, "heads": site, **columns})
    return View(_by_kind(found), SHARE, _rows_behind(shares))


def carrying_paths(results: Results) -> View:
    """The paths into the heads of a layer that carry most at the end."""
    shares = at_last_step(shares_of_change(results, DRAWN))
    part = shares[shares["edit"] == PATH]
    wide = part.pivot(index=["variable", "site"], columns=["family", "split"], values="share").reset_index("site")
    found = []
    for differs, paths in wide.groupby(level=0):
        for _, row in paths.sort_values((OTHER, NEW_ROWS), ascending=False).head(N_PATHS).iterrows():
            found.append({
                "arm": DRAWN, "what differs": differs, "path": path_in_words(row["site"].iloc[0]),
                "it carries": _text(row[OTHER, NEW_ROWS]), MORE_KEYS.format("it carries"): _text(row[OTHER, LONGER]),
                "same answer": _text(row[SAME, NEW_ROWS]),
            })  # fmt: skip
    return View(_by_kind(found), SHARE, _rows_behind(shares))


def carried_by_others(results: Results) -> View:
    """What the same parts carry in the drawn network and in the others whose last weights are shipped."""
    arms = {OTHERS: "other networks", DRAWN: "the drawn network"}
    there = [arm for arm in arms if arm == DRAWN or arm in results.arms]
    rows = pd.concat([shares_at_end(results, arm) for arm in there], ignore_index=True)
    rows = rows[rows["family"] == OTHER]
    rows = rows.assign(
        group=[COMPARED.get(part) for part in zip(rows["variable"], rows["edit"], rows["site"], strict=True)],
        series=rows["arm"].map(arms),
        value=rows["share"],
    ).dropna(subset="group")
    table = in_order(rows[["group", "series", "arm", "init_seed", "value"]], "group", COMPARED.values())
    note = (
        "Each line: in what two rows differ, then the part of the second layer, or the path into it, that is exchanged"
    )
    return View(table, "share of the change", NEW_ROWS, BAND, note=note)


def path_in_words(edge: str) -> str:
    """An edge as it is read: "L0H*>MLP->L1H*.k" is "L0H*, by the MLP, into keys of L1H*"."""
    sender, receiver = edge.split("->")
    heads, name = receiver.split(".")
    words = sender.replace(">MLP", ", by the MLP,").replace("embed", "embedding")
    return f"{words} into {INPUTS[name]} of {heads}"


def _is_layer(site: str) -> bool:
    """Whether a site is all heads of a layer, and no path."""
    return site.endswith("H*") and "->" not in site


def _text(share: float) -> str:
    return "–" if pd.isna(share) else f"{round(share, 2) + 0.0:.2f}"  # no "-0.00"


def _percent(shares: pd.Series) -> str:
    """A share, or the least to the most of several."""
    found = sorted({f"{100 * share:.0f}" for share in (shares.min(), shares.max()) if pd.notna(share)}, key=float)
    return f"{' to '.join(found)} %" if found else NOT_MEASURED


def _logits(change: pd.Series) -> str:
    return f"{change.iloc[0]:.1f}" if len(change) else NOT_MEASURED


def _by_kind(found: list[dict[str, str]]) -> pd.DataFrame:
    """Rows in the order of what differs, and else as they are."""
    return pd.DataFrame(sorted(found, key=lambda row: KINDS.index(row["what differs"])))


def _rows_behind(shares: pd.DataFrame) -> str:
    least, most = shares["n"].min(), shares["n"].max()
    return f"{most} rows" if least == most else f"{least} to {most} rows"


VIEWS = {view.__name__: view for view in (carried, carried_by_others, carrying_heads, carrying_paths, layer_shares)}
