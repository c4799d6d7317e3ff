"""Names of everything that can be recorded or edited inside the decoder.

Names follow TransformerLens; each names one tensor. ``q`` and ``k`` are taken after RoPE.

| site | shape |
|---|---|
| ``resid_pre``, ``resid_mid``, ``resid_post``, ``mlp_out`` | ``[batch pos d_model]`` |
| ``q``, ``k``, ``v``, ``z`` | ``[batch pos head d_head]`` |
| ``mlp_post`` | ``[batch pos d_mlp]`` (after the nonlinearity and the gate) |
| ``scores``, ``pattern`` | ``[batch head query key]`` (record only; edit by ``CutEdge``, ``Attend``) |
| ``result`` | ``[batch pos head d_model]`` (record only; edit ``z``) |
| ``resid_final`` | ``[batch pos d_model]`` after the final norm, on layer ``n_layers - 1`` |
"""

from typing import NamedTuple

STREAM_SITES = ("resid_pre", "resid_mid", "resid_post", "mlp_out", "mlp_post", "resid_final")
HEAD_SITES = ("q", "k", "v", "z")
RECORD_ONLY_SITES = ("scores", "pattern", "result")
SITES = STREAM_SITES + HEAD_SITES + RECORD_ONLY_SITES

ORDER = (
    *("resid_pre", "q", "k", "v", "scores", "pattern", "z", "result"),
    *("resid_mid", "mlp_post", "mlp_out", "resid_post", "resid_final"),
)
"""The sites of one layer, each after those it is computed from; q, k and v do not depend on each other."""


class Head(NamedTuple):
    """One attention head, zero-based; prints as ``L1H0``."""

    layer: int
    index: int

    def __str__(self) -> str:
        return f"L{self.layer}H{self.index}"


class Mlp(NamedTuple):
    """One MLP block; prints as ``L1MLP``."""

    layer: int

    def __str__(self) -> str:
        return f"L{self.layer}MLP"


class Site(NamedTuple):
    """A tensor inside the decoder; with ``head`` only that head's slice of it."""

    name: str
    layer: int
    head: int | None = None

    def __str__(self) -> str:
        return f"L{self.layer}{'' if self.head is None else f'H{self.head}'}.{self.name}"

    @property
    def key(self) -> str:
        """The name under which the whole tensor is recorded."""
        return f"{self.name}.{self.layer}"


def all_heads(n_layers: int, n_heads: int) -> tuple[Head, ...]:
    """Every head of a decoder, layer by layer."""
    return tuple(Head(layer, index) for layer in range(n_layers) for index in range(n_heads))


def stage(name: str) -> int:
    """Where a site comes in the computation of its layer; q, k and v come together."""
    return ORDER.index("q" if name in ("k", "v") else name)


def site_rank(name: str) -> int:
    """Axes of the tensor a site names, without those for edits and checkpoints."""
    return 3 if name in STREAM_SITES else 4


def check_site(site: Site) -> None:
    """Refuse a name no tensor carries, and a head slice of a tensor without heads."""
    if site.name not in SITES:
        raise ValueError(f"unknown site {site.name!r}; allowed: {', '.join(SITES)}")
    if site.head is not None and site.name not in HEAD_SITES:
        raise ValueError(
            f"{site.name} has no head axis to take head {site.head} of; those with one: {', '.join(HEAD_SITES)}"
        )
