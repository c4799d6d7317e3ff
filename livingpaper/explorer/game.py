"""Permutation recall as a game in the page: the reader guesses against the real network, and takes it apart."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from circuitcore.models.config import ModelConfig
from circuitcore.tasks.permutation import PermutationRecall
from livingpaper.explorer.game_still import opening, still_html
from livingpaper.explorer.weights import Dtype, in_script, packed

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("parts.js", "decoder.js", "recall_rules.js", "recall_inside.js", "recall_game.js")
"""In the order in which a page runs them."""
NAME = re.compile(r"[a-z][a-z0-9-]*")
REPEATS = PermutationRecall.repeat_ratio
"""Share of rows whose last x is one seen before, as the task draws them."""


@dataclass(frozen=True, kw_only=True)
class GameModel:
    """A trained network to play against.

    Attributes:
        label: what the reader chooses.
        config: of a decoder over tokens 0..V, 0 unused.
        checkpoints: epoch -> weights.
    """

    label: str
    config: ModelConfig
    checkpoints: Mapping[int, Mapping[str, Tensor]]


@dataclass(frozen=True, eq=False, kw_only=True)
class RecallGame:
    """The game as a notebook and a page of the book show it; made by ``recall_game``."""

    models: tuple[GameModel, ...]
    permutation: tuple[int, ...]
    order: tuple[int, ...]
    name: str
    repeats: float

    @cached_property
    def html(self) -> str:
        """Still, data, styles and scripts: one ``div`` that needs no other file."""
        data = in_script(payload(self.models, permutation=self.permutation, order=self.order, repeats=self.repeats))
        styles = (STATIC / "recall_game.css").read_text(encoding="utf-8")
        scripts = "".join(f"<script>{_script(name)}</script>" for name in SCRIPTS)
        first = self.models[0]
        still = still_html(opening(first.config, first.checkpoints, self.permutation, self.order), first.label)
        return (
            f'<div class="recall-game" id="{self.name}" role="group" aria-label="Game: permutation recall">'
            f"<style>{styles}</style><p>{_rules(len(self.permutation))}</p>{still}"
            f'<script type="application/json" class="recall-game-data">{data}</script>{scripts}</div>'
        )

    @property
    def n_bytes(self) -> int:
        """What the game adds to a page, before compression."""
        return len(self.html.encode())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": f"Game: permutation recall ({self.name})"}


def recall_game(
    models: Sequence[GameModel],
    *,
    permutation: tuple[int, ...],
    order: tuple[int, ...],
    name: str,
    repeats: float = REPEATS,
) -> RecallGame:
    """A game that opens on the first model's last checkpoint.

    Args:
        models: what the reader can choose among.
        permutation: ``permutation[i]`` is the y of x = i + 1 in the opening position.
        order: the x's asked so far; the last is open. At the last step it may repeat an earlier one.
        name: id of the block in the page, lower-case words with dashes.
        repeats: share of rows that the game draws whose last x is one seen before.

    Raises:
        ValueError: an opening or a network that does not fit the task, two models of one label, an unusable name, or
            repeats outside [0, 1].
    """
    if not 0 <= repeats <= 1:
        raise ValueError(f"repeats is a share of rows, in [0, 1]; got {repeats}")
    if not NAME.fullmatch(name):
        raise ValueError(f"a game's name is lower-case words with dashes ('game-recall'); got {name!r}")
    _check_opening(permutation, order)
    labels = [model.label for model in models]
    if not labels or len(set(labels)) < len(labels):
        raise ValueError(f"a game needs models with labels of their own; got {labels}")
    for model in models:
        _check_config(model, len(permutation))
    return RecallGame(models=tuple(models), permutation=permutation, order=order, name=name, repeats=repeats)


def payload(
    models: Sequence[GameModel],
    *,
    permutation: tuple[int, ...],
    order: tuple[int, ...],
    dtype: Dtype = "float16",
    repeats: float = REPEATS,
) -> dict[str, Any]:
    """What the page gets, as JSON literals: the opening, how often an x comes again, and all checkpoints."""
    return {
        "permutation": list(permutation),
        "order": list(order),
        "repeats": repeats,
        "models": [{"label": model.label, **packed(model.config, model.checkpoints, dtype)} for model in models],
    }


def _rules(size: int) -> str:
    return (
        f"A permutation is hidden: every x from 1 to {size} goes with a y of its own. Pick an x and guess its y. Then "
        "see what the network said, and what the pairs shown leave possible: the <em>exact posterior</em>, whose guess "
        "is its most likely y, the smallest where several tie. You win if you are right more often in five rounds than "
        "the network."
    )


def _script(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8").replace("</script", "<\\/script")


def _check_opening(permutation: tuple[int, ...], order: tuple[int, ...]) -> None:
    values = list(range(1, len(permutation) + 1))
    if len(values) < 2 or sorted(permutation) != values:
        raise ValueError(f"permutation must hold each of 1..V once, V at least 2; got {permutation}")
    if not 1 <= len(order) <= len(values) or not set(order) <= set(values):
        raise ValueError(f"order must hold 1 to {len(values)} of the x's {values}; got {order}")
    distinct = order[:-1] if len(order) == len(values) else order
    if len(set(distinct)) < len(distinct):
        raise ValueError(f"only the last of all {len(values)} x's may repeat an earlier one; got {order}")


def _check_config(model: GameModel, size: int) -> None:
    config, needed = model.config, {"d_vocab": size + 1, "n_ctx": 2 * size - 1}
    if config.d_in:
        raise ValueError(f"{model.label}: the game needs token inputs")
    for field, least in needed.items():
        if getattr(config, field) < least:
            raise ValueError(f"{model.label}: {field} must be at least {least} for {size} values")
