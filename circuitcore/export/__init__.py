"""A trained network in files that another library loads: ``circuitcore export RUN --to transformer-lens``."""

import importlib.resources
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from circuitcore.ground.spelling import close_match, first_of, unknown
from circuitcore.models.config import ModelConfig
from circuitcore.models.transformer import forward
from circuitcore.models.transformer_lens import hooked_config, hooked_weights
from circuitcore.training.errors import CheckpointError, StoreError
from circuitcore.training.store.checkpoint import pack
from circuitcore.training.store.durable import write_durably
from circuitcore.training.store.ledger import LEDGER_NAME, Ledger
from circuitcore.training.store.packed import packed_at
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore

FORMATS = ("transformer-lens",)
FILES = CONFIG, WEIGHTS, CHECK, SNIPPET = ("config.json", "weights.safetensors", "check.safetensors", "load.py")
N_CHECKED, CHECK_SEED = 2, 0
N_NAMED = 5  # runs or files that an error lists
OUT = Path("build/export")


def export(run: Run, to: str, step: int | None = None, out: Path | str | None = None) -> Path:
    """Write one checkpoint of a run as files of another library.

    ``transformer-lens`` gives ``weights.safetensors``, ``config.json`` (arguments of ``HookedTransformerConfig``, the
    vocabulary, and which run this is), ``load.py`` (loads both into a ``HookedTransformer`` of TransformerLens 3) and
    ``check.safetensors`` (random prompts and their logits, which ``load.py`` compares with its own).

    Args:
        run: a finished run.
        to: one of ``FORMATS``.
        step: of a checkpoint whose weights are here; None for the last of them.
        out: a new or empty folder, or one of an earlier export; None for ``build/export/RUN-STEP``.

    Returns:
        The folder.

    Raises:
        ValueError: an unknown format, a model that the format cannot express, or a folder with other files in it.
        StoreError: the weights are not here or damaged, or the folder cannot be written.
    """
    if to not in FORMATS:
        raise ValueError(unknown("format", to, FORMATS))
    model = run.recipe.model
    hooked_config(model)  # refused before anything is read or written
    at = _step(run, step)
    weights = run.weights(at)
    folder = _folder(Path(out or OUT / f"{run.run_id}-{at}"))
    for name, data in transformer_lens_files(model, weights, _words(run), {"run": run.run_id, "step": at}).items():
        write_durably(folder / name, data)
    return folder


def transformer_lens_files(
    model: ModelConfig, weights: Mapping[str, Tensor], vocab: Sequence[str], whose: Mapping[str, str | int]
) -> dict[str, bytes]:
    """The four files of ``export`` by name.

    Args:
        model: one that TransformerLens can express.
        weights: of one checkpoint.
        vocab: the word of every token id.
        whose: what the files say of where the weights come from.

    Raises:
        ValueError: any other model.
    """
    described = {**whose, "config": hooked_config(model), "vocab": list(vocab)}
    identity = {key: str(value) for key, value in whose.items()}
    return {
        CONFIG: f"{json.dumps(described, indent=1)}\n".encode(),
        WEIGHTS: pack(hooked_weights(model, weights), identity),
        CHECK: pack(_prompts_and_logits(model, weights), identity),
        SNIPPET: importlib.resources.files(__name__).joinpath(SNIPPET).read_bytes(),
    }


def find_run(name: str, store: RunStore) -> Run:
    """The finished run that a word on the command line means: a folder, a run id, or the beginning of just one.

    Args:
        name: the word.
        store: where a run id is looked up, and which tasks from outside a run may name, wherever it lies.

    Raises:
        StoreError: there is none, there are several, it is not finished, or its ledger is damaged.
    """
    folder = Path(name).resolve()
    if (folder / LEDGER_NAME).is_file():
        if not Ledger.read(folder).finished:
            raise StoreError(f"{name}: this run is not finished; train it to its end first")
        return RunStore(folder.parent, None, store.allow_tasks).get(folder.name)
    if packed_at(folder):
        return RunStore(folder.parents[2], None, store.allow_tasks).get(folder.name)
    places, known = [place for place in (store.root, store.published) if place is not None], set(store.run_ids())
    meant = {name} & known or {run_id for run_id in known if name and run_id.startswith(name)}
    if len(meant) > 1:
        raise StoreError(f"{name!r} is the beginning of {len(meant)} runs: {first_of(sorted(meant))}")
    if not meant:
        near = close_match(name, known)
        guess = f"; did you mean {near!r}?" if near else ""
        raise StoreError(
            f"no run {name!r} in {' or '.join(map(str, places))}{guess} ('circuitcore status' lists the runs)"
        )
    return store.get(meant.pop())


def _step(run: Run, step: int | None) -> int:
    if not run.steps:
        raise CheckpointError(f"{run.run_id}: none of its weights are here; train the run again for them")
    if step is not None and step not in run.steps:
        raise CheckpointError(
            f"{run.run_id}: no weights at step {step}; there are those at {', '.join(map(str, run.steps))}"
        )
    return run.steps[-1] if step is None else step


def _folder(folder: Path) -> Path:
    """A folder in which nothing is written over but an earlier export."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder")
    others = sorted(path.name for path in folder.iterdir() if path.name not in FILES) if folder.exists() else []
    others = [name for name in others if name != "__pycache__"]  # left by whoever imported load.py
    if others:
        raise ValueError(f"{folder} holds other files ({', '.join(others[:N_NAMED])}): name a new or empty folder")
    return folder


def _words(run: Run) -> list[str]:
    """The word of every token id; ids that the model has beyond the task's words are named as such."""
    words = run.recipe.make_task().vocab
    return [*words, *(f"<unused {number}>" for number in range(run.recipe.model.d_vocab - len(words)))]


def _prompts_and_logits(model: ModelConfig, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Random prompts ``tokens [prompt pos]`` of the greatest length, ``logits [prompt pos d_vocab]`` in float64."""
    generator = torch.Generator().manual_seed(CHECK_SEED)
    tokens = torch.randint(model.d_vocab, (N_CHECKED, model.n_ctx), generator=generator)
    exact = {name: tensor.double() for name, tensor in weights.items()}
    with torch.no_grad():
        return {"tokens": tokens, "logits": forward(model, exact, tokens).logits.contiguous()}
