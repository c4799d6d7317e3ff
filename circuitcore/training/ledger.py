"""The ledger of a run: what files it has, and the hash of each, chained from checkpoint to checkpoint."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from circuitcore.training.checkpoint import sha256
from circuitcore.training.durable import write_durably
from circuitcore.training.errors import REMEDY, StoreError

LEDGER_NAME = "ledger.json"


def checkpoint_name(step: int) -> str:
    """File name of the weights after ``step`` updates."""
    return f"step-{step:07d}.safetensors"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One checkpoint.

    Attributes:
        step: optimizer updates done.
        file: its name in the run's folder.
        sha256: hash of that file.
        parent: hash of the checkpoint before it; of the recipe for the first.
        loss: mean cross-entropy in nats on the probe rows (see ``loop.probe_rows``), recomputable from the file.
        kept: whether the file is here; a published run keeps only some.
    """

    step: int
    file: str
    sha256: str
    parent: str
    loss: float
    kept: bool = True


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """What a run consists of.

    Attributes:
        run_id: the run, and the name of its folder.
        recipe_sha256: hash of its recipe.
        data_sha256: hash of the rows it is trained on, so that a task whose rows change is noticed.
        entries: its checkpoints, in order.
        finished: whether training reached its end.
        history_sha256: hash of ``history.parquet``; None until finished.
        tables: key -> hash of ``tables/KEY.parquet``.
        made_with: versions it was trained with; more than one if it was resumed under another.
        history_thinned: whether ``history.parquet`` has one row per epoch (see ``history.per_epoch``), not per step.
    """

    run_id: str
    recipe_sha256: str
    data_sha256: str
    entries: tuple[Entry, ...] = ()
    finished: bool = False
    history_sha256: str | None = None
    tables: Mapping[str, str] = field(default_factory=dict)
    made_with: tuple[str, ...] = ()
    history_thinned: bool = False

    @property
    def last_hash(self) -> str:
        """What the next checkpoint's parent is."""
        return self.entries[-1].sha256 if self.entries else self.recipe_sha256

    def entry(self, step: int) -> Entry | None:
        """The checkpoint at ``step``, if there is one."""
        return next((entry for entry in self.entries if entry.step == step), None)

    def write(self, folder: Path) -> None:
        """Write it durably as ``ledger.json``, one checkpoint a line, with a hash of itself."""
        fields = {key: _line(value) for key, value in self._fields().items() if key != "entries"}
        fields["seal"] = _line(self._seal())
        lines = ",\n".join(f"  {_line(dataclasses.asdict(entry))}" for entry in self.entries)
        fields["entries"] = f"[\n{lines}\n ]" if lines else "[]"
        body = ",\n".join(f' "{key}": {text}' for key, text in fields.items())
        write_durably(folder / LEDGER_NAME, f"{{\n{body}\n}}\n".encode())

    @classmethod
    def read(cls, folder: Path) -> "Ledger":
        """The ledger in ``folder``.

        Raises:
            StoreError: absent, damaged, or its checkpoints do not form one chain.
        """
        path = folder / LEDGER_NAME
        try:
            fields = json.loads(path.read_bytes())
            seal, entries = fields.pop("seal"), fields.pop("entries")
            fields["made_with"] = tuple(fields["made_with"])
            ledger = cls(**fields, entries=tuple(Entry(**entry) for entry in entries))
        except OSError as error:
            raise StoreError(f"{path}: cannot be read ({error.strerror}). {REMEDY}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{path}: damaged, it is no ledger any more ({error}). {REMEDY}") from error
        if seal != ledger._seal():
            raise StoreError(f"{path}: damaged, its content does not give the hash in its 'seal'. {REMEDY}")
        if ledger.run_id != folder.name:
            raise StoreError(f"{path}: of run {ledger.run_id}, in a folder of another name. {REMEDY}")
        ledger._check_chain(path)
        return ledger

    def _check_chain(self, path: Path) -> None:
        parent, last = self.recipe_sha256, -1
        for entry in self.entries:
            if entry.parent != parent or entry.step <= last or entry.file != checkpoint_name(entry.step):
                raise StoreError(f"{path}: step {entry.step} does not follow from the checkpoint before it. {REMEDY}")
            parent, last = entry.sha256, entry.step

    def _fields(self) -> dict[str, Any]:
        fields = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        if not self.history_thinned:
            del fields["history_thinned"]  # younger than many a sealed ledger
        return fields | {"entries": [dataclasses.asdict(entry) for entry in self.entries]}

    def _seal(self) -> str:
        return sha256(_line(self._fields()).encode())


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
