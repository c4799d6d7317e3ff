"""What is done to a network while it is trained: parts of it frozen, held, changed by more or less, grafted, clamped.

Each is a frozen value in ``Recipe.during``. Most come down to two things that every engine can do: other numbers to
begin with, and a factor on what each update adds to each number. Loss, gradient, its norm and clipping, and moments are
those of the whole network. Decoupled decay of weights is part of an update, so what is frozen does not decay.

What is held at other values than 0, or clamped, is an edit of every forward pass of training (``edits_of``), which the
engine "torch" alone can do. Weights are what a run keeps: whoever measures it sees the network without the edit, or
makes it again.

A part is written as text: ``L1H0`` (a head: its queries, keys, values and output), ``L1H0.QK`` (some of these),
``L1MLP``, ``L1N17`` (one hidden unit of an MLP: the weights into it and out of it), ``L1`` (a whole layer with its
norms), ``all``, or the name of a tensor, such as ``embed.W_E``.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from circuitcore.ground.spelling import unknown
from circuitcore.models.config import ModelConfig
from circuitcore.models.edits import Ablate, Attend, Edit
from circuitcore.models.sites import Head, Mlp
from circuitcore.models.transformer import weight_shapes
from circuitcore.training.errors import RecipeError
from circuitcore.training.fields import checked_keys, is_count, is_number, require, typed, words_of

State = Mapping[str, Tensor]
"""An engine's: ``weights.NAME``, moments such as ``exp_avg.NAME``, ``step``."""
StateOf = Callable[[str, int], State]
"""The state of a run, named by its recipe's SHA-256, after some updates, those of its parents included."""
Masks = dict[str, Tensor]
"""Tensor name -> bool, of the tensor's shape."""
_PART = re.compile(r"L(\d+)(?:H(\d+)(?:\.([QKVO]+))?|(MLP)|N(\d+))?", re.ASCII)
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Freeze:
    """Parts that do not move."""

    kind: ClassVar[str] = "freeze"
    parts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Parts whose updates are multiplied by ``factor``: damped below 1, boosted above, as they were at 1."""

    kind: ClassVar[str] = "scale"
    parts: tuple[str, ...]
    factor: float

    def __post_init__(self):
        require(is_number(self.factor) and self.factor >= 0, "during.factor", self.factor, "a number >= 0")
        object.__setattr__(self, "factor", float(self.factor))


@dataclass(frozen=True, kw_only=True)
class Hold:
    """Heads, MLPs or hidden units that say nothing of their own from the first step on.

    ``how``: "zero": what they write with is 0 and stays it. For heads and MLPs also "mean": their output is its mean
    over the rows of the batch, position by position; and "resample": it is that of the row before in the batch.
    """

    kind: ClassVar[str] = "hold"
    parts: tuple[str, ...]
    how: Literal["zero", "mean", "resample"] = "zero"

    def __post_init__(self):
        words = words_of(Hold, "how")
        require(self.how in words, "during.how", self.how, " or ".join(words))


@dataclass(frozen=True, kw_only=True)
class Clamp:
    """Heads that look where they are told: ``behind`` positions back, and at the first one from before that.

    0 is the position itself; None looks evenly at all positions up to it.
    """

    kind: ClassVar[str] = "clamp"
    parts: tuple[str, ...]
    behind: int | None

    def __post_init__(self):
        fits = self.behind is None or is_count(self.behind, 0)
        require(fits, "during.behind", self.behind, "an integer >= 0, or None")


@dataclass(frozen=True, kw_only=True)
class Graft:
    """Parts that begin as they stood in another run of the same model, with their moments, after some updates."""

    kind: ClassVar[str] = "graft"
    parts: tuple[str, ...]
    source: tuple[str, int]

    def __post_init__(self):
        check_source("during.source", self.source)


During = Freeze | Scale | Hold | Graft | Clamp
KINDS = {one.kind: one for one in (Freeze, Scale, Hold, Graft, Clamp)}


def check_source(field: str, source: object) -> None:
    """Refuse what names no state of a run: (SHA-256 of its recipe, updates done)."""
    pair = isinstance(source, tuple) and len(source) == 2
    fits = pair and isinstance(source[0], str) and _SHA256.fullmatch(source[0]) and is_count(source[1], 0)
    require(bool(fits), field, source, "(SHA-256 of the run's recipe, as 64 hex digits; number of updates >= 0)")


def to_literals(value: During) -> dict[str, Any]:
    """A value as JSON literals."""
    return {"kind": value.kind, **dataclasses.asdict(value)}


def from_literals(values: object) -> During:
    """The value that those literals describe; RecipeError for what is none."""
    kind = values.get("kind") if isinstance(values, dict) else None
    require(isinstance(kind, str) and kind in KINDS, "during.kind", kind, ", ".join(KINDS))
    fields = {name: value for name, value in values.items() if name != "kind"}
    return KINDS[kind](**typed(KINDS[kind], "during.", checked_keys(KINDS[kind], "recipe.during", fields)))


def check(model: ModelConfig, during: object) -> None:
    """Refuse what cannot be done to a network of ``model``, by name."""
    fits = isinstance(during, tuple) and all(isinstance(one, During) for one in during)
    require(fits, "during", during, f"a tuple of {', '.join(one.__name__ for one in KINDS.values())}")
    for one in during:
        named = isinstance(one.parts, tuple) and len(one.parts) > 0 and all(isinstance(at, str) for at in one.parts)
        require(named, "during.parts", one.parts, "a tuple of at least one part, such as ('L1H0',)")
        masks_of(model, one.parts)
        if isinstance(one, Hold) and one.how == "zero":
            _written_by(model, one.parts)
        edits_of((one,))


def edits_of(during: Iterable[During]) -> tuple[Edit, ...]:
    """The edits of each forward pass; none for what comes down to weights and factors on updates.

    ``Ablate`` takes the caches "mean" and "resample"; ``Attend`` goes from the positions "all", or from "here" to
    "behind N".

    Raises:
        RecipeError: a part that is no head, or no MLP either where one may be held.
    """
    found: list[Edit] = []
    for one in during:
        if isinstance(one, Clamp):
            where = ("all", "all") if one.behind is None else ("here", f"behind {one.behind}")
            heads = [_head_or_mlp(part) for part in one.parts]
            for part, head in zip(one.parts, heads, strict=True):
                require(isinstance(head, Head), "during.parts", part, "a head, such as L1H0, to clamp")
            found += [Attend(head, *where) for head in heads]
        elif isinstance(one, Hold) and one.how != "zero":
            parts = [_head_or_mlp(part) for part in one.parts]
            for part, held in zip(one.parts, parts, strict=True):
                require(held is not None, "during.parts", part, f"a head or an MLP, to hold at its {one.how}")
            found += [Ablate(held, one.how) for held in parts]
    return tuple(found)


def clamped_roles(
    edits: Iterable[Edit], tokens: Shaped[Tensor, "batch pos *d_in"]
) -> dict[str, Int[Tensor, "batch pos"]]:
    """The positions that ``edits_of`` names: "here", every one, and "behind N", so many before it or the first."""
    here = torch.arange(tokens.shape[1]).expand(len(tokens), -1)
    clamped = [edit.key for edit in edits if isinstance(edit, Attend) and edit.key != "all"]
    return {"here": here} | {key: (here - int(key.removeprefix("behind "))).clamp(min=0) for key in clamped}


def _head_or_mlp(part: str) -> Head | Mlp | None:
    layer, head, letters, mlp, _ = found.groups() if (found := _PART.fullmatch(part)) else (None,) * 5
    if head is not None and letters is None:
        return Head(int(layer), int(head))
    return Mlp(int(layer)) if mlp else None


def masks_of(model: ModelConfig, parts: Iterable[str]) -> Masks:
    """Where the numbers of some parts are.

    Raises:
        RecipeError: a part that no network of ``model`` has.
    """
    shapes, found = {name: shape for name, (shape, _) in weight_shapes(model).items()}, {}
    for part in parts:
        for name, index in _places(model, part, shapes):
            mask = found.setdefault(name, torch.zeros(shapes[name], dtype=torch.bool))
            mask[index] = True
    return found


def factors(model: ModelConfig, during: Iterable[During]) -> dict[str, Tensor]:
    """Tensor name -> what the updates of its numbers are multiplied by; without tensors that move as ever."""
    found: dict[str, Tensor] = {}
    for one in during:
        if isinstance(one, Graft) or edits_of((one,)):
            continue
        masks = _written_by(model, one.parts) if isinstance(one, Hold) else masks_of(model, one.parts)
        for name, mask in masks.items():
            before = found.setdefault(name, torch.ones(mask.shape))
            found[name] = torch.where(mask, before * (one.factor if isinstance(one, Scale) else 0.0), before)
    return found


def begun(model: ModelConfig, during: Iterable[During], state: State, state_of: StateOf) -> dict[str, Tensor]:
    """The state to begin with: ``state``, and in it what is held or grafted; its ``step`` stays.

    Raises:
        RecipeError: a graft from a run of another model, or with other moments.
    """
    changed = dict(state)
    for one in during:
        if isinstance(one, Hold) and one.how == "zero":
            for name, mask in _written_by(model, one.parts).items():
                changed[f"weights.{name}"] = changed[f"weights.{name}"].masked_fill(mask, 0.0)
        elif isinstance(one, Graft):
            theirs = state_of(*one.source)
            require_alike(f"graft {', '.join(one.parts)}", theirs, changed)
            masks = masks_of(model, one.parts)
            for key, value in changed.items():
                mask = masks.get(key.partition(".")[2])
                changed[key] = value if mask is None else torch.where(mask, theirs[key], value)
    return changed


def require_alike(what: str, theirs: State, ours: State) -> None:
    """RecipeError where two states are not of one model and one set of moments."""
    shapes = [{name: tuple(value.shape) for name, value in state.items()} for state in (theirs, ours)]
    if differing := sorted({name for name, _ in shapes[0].items() ^ shapes[1].items()}):
        raise RecipeError(
            f"{what}: of another model or update rule: {differing[0]} is {shapes[0].get(differing[0], 'absent')} "
            f"there, {shapes[1].get(differing[0], 'absent')} here; allowed: runs whose states have the same tensors"
        )


def _places(model: ModelConfig, part: str, shapes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Each tensor of a part, and the index of the part in it."""
    if part in shapes:
        return [(part, ...)]
    if part == "all":
        return [(name, ...) for name in shapes]
    found = _PART.fullmatch(part)
    if not found:
        written = "L1H0, L1H0.QK, L1MLP, L1N17, L1, all, or a tensor"
        raise RecipeError(f"during.parts: {unknown('part', part, shapes)}; or as {written}")
    layer, head, letters, mlp, unit = found.groups()
    wanted = {"layer": (layer, model.n_layers), "head": (head, model.n_heads), "hidden unit": (unit, model.d_mlp)}
    for what, (number, count) in wanted.items():
        least = f"a {what} in 0..{count - 1}"
        require(number is None or int(number) < count, "during.parts", part, least)
    inside = f"blocks.{layer}."
    if head is not None:
        wanted = {f"{inside}attn.{kind}_{letter}" for letter in letters or "QKVO" for kind in "Wb"}
        return [(name, int(head)) for name in shapes if name in wanted and not name.endswith("b_O")]
    if mlp is None and unit is None:
        return [(name, ...) for name in shapes if name.startswith(inside)]
    require(model.mlp != "none", "during.parts", part, "no part of an MLP, as mlp = 'none'")
    if mlp:
        return [(name, ...) for name in shapes if name.startswith(f"{inside}mlp.")]
    rows = {"W_out": (int(unit),), "W_in": (slice(None), int(unit)), "b_in": (int(unit),)}
    rows |= {"W_gate": rows["W_in"], "b_gate": rows["b_in"]}
    return [(f"{inside}mlp.{name}", at) for name, at in rows.items() if f"{inside}mlp.{name}" in shapes]


def _written_by(model: ModelConfig, parts: Iterable[str]) -> Masks:
    """Of some heads, MLPs and hidden units the numbers that they write with; RecipeError for another part."""
    shapes, found = {name: shape for name, (shape, _) in weight_shapes(model).items()}, {}
    for part in parts:
        writes = [(name, at) for name, at in _places(model, part, shapes) if name.endswith(("W_O", "W_out", "b_out"))]
        whole = re.fullmatch(r"L\d+(H\d+|MLP|N\d+)", part, re.ASCII)
        require(bool(whole), "during.parts", part, "a head, an MLP or a hidden unit, such as L1H0, to hold")
        for name, index in writes:
            mask = found.setdefault(name, torch.zeros(shapes[name], dtype=torch.bool))
            mask[index] = True
    return found
