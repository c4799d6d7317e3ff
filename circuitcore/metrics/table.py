"""The tidy table every measurement ends in: one row per number."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from torch import Tensor

COLUMNS = (
    *("run_id", "step", "tokens_seen", "metric", "layer", "head"),
    *("site", "variable", "edit", "split", "family", "value", "n"),
)
TEXT = ("run_id", "metric", "site", "variable", "edit", "split", "family")


class Rows:
    """Collects numbers of one stack of checkpoints, labelled, until ``frame`` makes the table.

    ``edit`` is one column more than the design's list: which edit the number was measured under.
    """

    def __init__(self, run_id: str, steps: Sequence[int], tokens_seen: Sequence[int]):
        self.run_id, self.checkpoints = run_id, list(zip(steps, tokens_seen, strict=True))
        self._rows: list[dict[str, Any]] = []

    def add(self, metric: str, values: Tensor, n: int, labels: Sequence[dict[str, Any]] = ({},), **common: Any) -> None:
        """One row for each checkpoint and label.

        Args:
            metric: its name.
            values: ``[ckpt label]``, or ``[ckpt]`` with the one empty label.
            n: prompts (or pairs) behind each number.
            labels: columns that differ along the second axis.
            common: columns that do not.

        Raises:
            ValueError: values that do not match checkpoints and labels, or an unknown column.
        """
        values = values.reshape(len(self.checkpoints), -1)
        if values.shape[1] != len(labels):
            raise ValueError(f"{metric}: {values.shape[1]} values per checkpoint but {len(labels)} labels")
        for (step, tokens), row in zip(self.checkpoints, values.tolist(), strict=True):
            fixed = {"step": step, "tokens_seen": tokens, "metric": metric, "n": n, **common}
            self._rows.extend({**fixed, **label, "value": value} for label, value in zip(labels, row, strict=True))

    def add_each(self, metric: str, values: Tensor, n: int, labels: Sequence[dict[str, Any]], **common: Any) -> None:
        """One row for each checkpoint, which has a label of its own; otherwise as ``add``.

        Args:
            metric: its name.
            values: ``[ckpt]``.
            n: prompts (or pairs) behind each number.
            labels: columns that differ between checkpoints.
            common: columns that do not.
        """
        for (step, tokens), value, label in zip(self.checkpoints, values.tolist(), labels, strict=True):
            fixed = {"step": step, "tokens_seen": tokens, "metric": metric, "n": n}
            self._rows.append({**fixed, **common, **label, "value": value})

    def frame(self) -> pd.DataFrame:
        """All rows so far; text columns are "" and layer and head missing where they do not apply."""
        table = pd.DataFrame(self._rows)
        unknown = set(table.columns) - set(COLUMNS)
        if unknown:
            raise ValueError(f"unknown columns {sorted(unknown)}; allowed: {', '.join(COLUMNS)}")
        table = table.reindex(columns=list(COLUMNS))
        table["run_id"] = self.run_id
        for name in TEXT:
            table[name] = table[name].astype(object).fillna("").astype("str").astype("category")
        for name in ("layer", "head"):
            table[name] = table[name].astype("Int64")
        return table.astype({"value": "float64", "n": "int64", "step": "int64", "tokens_seen": "int64"})


def head_labels(heads: Sequence[tuple[int, int]]) -> list[dict[str, int]]:
    """Labels for a ``[ckpt head]`` tensor that runs over all heads, layer by layer."""
    return [{"layer": layer, "head": head, "site": f"L{layer}H{head}"} for layer, head in heads]
