"""The game's opening position as plain HTML, for paper and for readers without JavaScript."""

import html
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import forward
from livingpaper.explorer.weights import rounded


@dataclass(frozen=True, eq=False, kw_only=True)
class Opening:
    """The position a game opens on, and what the network makes of it.

    Attributes:
        epoch: of the network's checkpoint.
        pairs: the pairs shown, in order.
        x: what is asked.
        posterior: of y = 1..V, uniform over the permutations that fit.
        network: probabilities of y = 1..V.
        attention: head -> attention of the last position to each ``[pos]``.
    """

    epoch: int
    pairs: tuple[tuple[int, int], ...]
    x: int
    posterior: tuple[float, ...]
    network: tuple[float, ...]
    attention: Mapping[str, tuple[float, ...]]


def opening(
    config: ModelConfig,
    checkpoints: Mapping[int, Mapping[str, Tensor]],
    permutation: tuple[int, ...],
    order: tuple[int, ...],
) -> Opening:
    """The opening under the last checkpoint, with the rounded weights that the page has."""
    epoch = max(checkpoints)
    pairs = tuple((x, permutation[x - 1]) for x in order[:-1])
    tokens = torch.tensor([[*(token for pair in pairs for token in pair), order[-1]]])
    record = [f"pattern.{layer}" for layer in range(config.n_layers)]
    with torch.no_grad():
        output = forward(config, rounded(checkpoints[epoch]), tokens, record=record)
    patterns = (output.cache[site][0, head, -1] for site in record for head in range(config.n_heads))
    names = (f"L{layer}H{head}" for layer in range(config.n_layers) for head in range(config.n_heads))
    size = len(permutation)
    return Opening(
        epoch=epoch,
        pairs=pairs,
        x=order[-1],
        posterior=posterior(permutation, order),
        network=tuple(output.logits[0, -1, 1 : size + 1].softmax(-1).tolist()),
        attention={name: tuple(row.tolist()) for name, row in zip(names, patterns, strict=True)},
    )


def posterior(permutation: tuple[int, ...], order: tuple[int, ...]) -> tuple[float, ...]:
    """Probabilities of y = 1..V for the last x, uniform over the permutations that fit the pairs before it."""
    used = {permutation[x - 1] for x in order[:-1]}
    values = range(1, len(permutation) + 1)
    fitting = {permutation[order[-1] - 1]} if order[-1] in order[:-1] else set(values) - used
    return tuple(1 / len(fitting) if y in fitting else 0.0 for y in values)


def share(p: float) -> str:
    """A share in three digits, never a rounded 0 or 1; as ``share`` of ``static/recall_rules.js``."""
    if 0 < p < 0.0005:
        return "<0.001"
    return ">0.999" if 0.9995 <= p < 1 else f"{p:.3f}"


def still_html(position: Opening, label: str) -> str:
    """The opening in words, and its probabilities and attention as tables."""
    shown = ", ".join(f"x = {x} → y = {y}" for x, y in position.pairs)
    again = " again" if position.x in dict(position.pairs) else ""
    asked = f"x = {position.x}{again}: which y?"
    opening = f"Shown: {shown}. Asked: {asked}" if shown else f"Asked: {asked}"
    return (
        f'<div class="recall-game-still"><p>{opening.replace(" = ", "&nbsp;=&nbsp;")}</p>'
        f'<div class="recall-game-tables">{_answers(position, label)}{_attention(position)}</div>'
        '<p class="recall-game-without">This is the opening position with its answers. With JavaScript it is a game, '
        "and you guess first.</p></div>"
    )


def _answers(position: Opening, label: str) -> str:
    rows = "".join(
        f'<tr><th scope="row">y = {y}</th>{_bar("exact", exact)}{_bar("network", network)}</tr>'
        for y, (exact, network) in enumerate(zip(position.posterior, position.network, strict=True), start=1)
    )
    caption = f"Probability of each y. Network: {html.escape(label)}, epoch {position.epoch}."
    head = '<th scope="col">y</th><th scope="col">exact posterior</th><th scope="col">network</th>'
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _bar(name: str, value: float) -> str:
    bar = f'<i class="recall-game-bar recall-game-{name}" style="width:{100 * value:.1f}%"></i>'
    return f'<td>{html.escape(share(value))}<span class="recall-game-track">{bar}</span></td>'


def _attention(position: Opening) -> str:
    read = [f"{name} = {value}" for pair in position.pairs for name, value in zip("xy", pair, strict=True)]
    read.append(f"x = {position.x}")
    rows = "".join(
        f'<tr><th scope="row">{token}</th>'
        + "".join(f"<td>{html.escape(share(row[place]))}</td>" for row in position.attention.values())
        + "</tr>"
        for place, token in enumerate(read)
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("position", *position.attention))
    caption = "Attention of the last position."
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
