"""The ledger of a run: what files it has, and the hash of each, chained from checkpoint to checkpoint."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, FailFast, Field, TypeAdapter, ValidationError, with_config

from circuitcore.ground.packed import LEDGER_NAME
from circuitcore.ground.reading import MAX_RUN_JSON_BYTES, parse_json, read_file
from circuitcore.training.errors import REMEDY, StoreError
from circuitcore.training.store.durable import write_durably
from circuitcore.training.store.file_bytes import SQUEEZED, sha256

RECIPE_NAME = "recipe.json"
HISTORY_NAME = "history.parquet"
RESUME_NAME = "resume.safetensors"
TABLE_FOLDER = "tables"
MAX_STEP = 10**12
MAX_TABLES = 1_000
TABLE_KEY = r"[A-Za-z0-9][A-Za-z0-9._-]*"  # a file name without its ending: no separator, nothing hidden


def _few(fields: Any) -> Any:
    """``fields``, if they can be looked at one by one: each that is wrong makes an error, a hundred times its size."""
    if isinstance(fields, dict) and len(fields) > MAX_TABLES:
        raise ValueError(f"{len(fields):,} keys; allowed: at most {MAX_TABLES:,}")
    return fields


# What a ledger on disk may say; ``Ledger.read`` holds it to these, in files that may come from a stranger.
Hash = Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9_-]+$", max_length=200)]
Key = Annotated[str, Field(strict=True, pattern=f"^{TABLE_KEY}$", max_length=200)]
Words = Annotated[str, Field(strict=True, max_length=500)]
Step = Annotated[int, Field(strict=True, ge=0, le=MAX_STEP)]
Nats = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]


def checkpoint_name(step: int) -> str:
    """File name of the weights after ``step`` updates."""
    return f"step-{step:07d}.safetensors"


def packed_name(step: int) -> str:
    """The same of a run in a pack, where weights are squeezed (``store.squeezed``)."""
    return f"{checkpoint_name(step)}{SQUEEZED}"


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, kw_only=True)
class Entry:
    """One checkpoint.

    Attributes:
        step: optimizer updates done.
        file: its name in the run's folder.
        sha256: hash of that file, in a pack of its bytes before they were squeezed.
        parent: hash of the checkpoint before it; of the recipe for the first.
        loss: mean cross-entropy in nats on the probe rows (see ``training.probe``), recomputable from the file.
        kept: whether the file is here; a published run keeps only some.
    """

    step: Step
    file: Words
    sha256: Hash
    parent: Hash
    loss: Nats
    kept: Flag = True


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, kw_only=True)
class Ledger:
    """What a run consists of.

    Attributes:
        run_id: the run, and the name of its folder.
        recipe_sha256: hash of its recipe.
        data_sha256: hash of the rows it is trained on, so that a task whose rows change is noticed; None for an
            experiment of one seed, which is kept as a run is: it has a table, and neither checkpoints nor history.
        entries: its checkpoints, in order.
        finished: whether training reached its end.
        history_sha256: hash of ``history.parquet``; None until finished.
        tables: key -> hash of ``tables/KEY.parquet``.
        made_with: versions it was trained with; more than one if it was resumed under another.
        history_thinned: whether ``history.parquet`` has one row per epoch (see ``history.per_epoch``), not per step.
    """

    run_id: Name
    recipe_sha256: Hash
    data_sha256: Hash | None
    entries: Annotated[tuple[Annotated[Entry, BeforeValidator(_few)], ...], FailFast()] = ()
    finished: Flag = False
    history_sha256: Hash | None = None
    tables: Annotated[Mapping[Key, Hash], BeforeValidator(_few)] = field(default_factory=dict)
    made_with: Annotated[tuple[Words, ...], FailFast()] = ()
    history_thinned: Flag = False

    @property
    def trained(self) -> bool:
        """Whether it is of a run of training, not of an experiment."""
        return self.data_sha256 is not None

    @property
    def last_hash(self) -> str:
        """What the next checkpoint's parent is."""
        return self.entries[-1].sha256 if self.entries else self.recipe_sha256

    @property
    def weights(self) -> list[tuple[int, str]]:
        """Step and hash of every checkpoint."""
        return [(entry.step, entry.sha256) for entry in self.entries]

    def entry(self, step: int) -> Entry | None:
        """The checkpoint at ``step``, if there is one."""
        return next((entry for entry in self.entries if entry.step == step), None)

    def write(self, folder: Path) -> None:
        """Write it durably as ``ledger.json``.

        Raises:
            StoreError: it cannot be written, or ``read`` would refuse it.
        """
        if len(self.tables) > MAX_TABLES:
            raise StoreError(f"{folder / LEDGER_NAME}: a run keeps at most {MAX_TABLES:,} tables.")
        write_durably(folder / LEDGER_NAME, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The bytes of ``ledger.json``: one checkpoint a line, with a hash of the content."""
        content = self._fields()
        fields = {key: _line(value) for key, value in content.items() if key != "entries"}
        fields["seal"] = _line(_seal(content))
        lines = ",\n".join(f"  {_line(vars(entry))}" for entry in self.entries)
        fields["entries"] = f"[\n{lines}\n ]" if lines else "[]"
        body = ",\n".join(f' "{key}": {text}' for key, text in fields.items())
        return f"{{\n{body}\n}}\n".encode()

    @classmethod
    def read(cls, folder: Path) -> "Ledger":
        """The ledger in ``folder``.

        Raises:
            StoreError: absent, damaged, of another run, or its checkpoints do not form one chain.
        """
        path = folder / LEDGER_NAME
        try:
            fields = parse_json(read_file(path, MAX_RUN_JSON_BYTES))
            seal = fields.pop("seal")
        except OSError as error:
            raise StoreError(f"{path}: cannot be read ({error.strerror}). {REMEDY}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{path}: damaged, it is no ledger any more ({error}). {REMEDY}") from error
        ledger = _validated(fields, path)
        if seal != _seal(fields):
            raise StoreError(f"{path}: damaged, its content does not give the hash in its 'seal'. {REMEDY}")
        if fields != ledger._fields():
            raise StoreError(f"{path}: damaged, it lacks fields of a ledger or spells out a default. {REMEDY}")
        if ledger.run_id != folder.absolute().name:
            raise StoreError(f"{path}: of run {ledger.run_id}, in a folder of another name. {REMEDY}")
        ledger._check_parts(path)
        return ledger

    @classmethod
    def of(cls, fields: Any, where: Path | str) -> "Ledger":
        """The ledger of a packed run that has these fields.

        Args:
            fields: of a ledger, as values of JSON.
            where: they were found, for errors.

        Raises:
            StoreError: they are no ledger's, or its checkpoints do not form one chain.
        """
        ledger = _validated(fields, where)
        ledger._check_parts(where, packed_name)
        return ledger

    def _check_parts(self, path: Path | str, name_of: Callable[[int], str] = checkpoint_name) -> None:
        """Hold the parts of a ledger to each other."""
        if not self.run_id.endswith(f"-{self.recipe_sha256[:12]}"):
            raise StoreError(f"{path}: its run_id does not end as the hash of its recipe begins. {REMEDY}")
        if not self.trained:
            if not self.finished or self.entries or self.history_sha256 or not self.tables:
                text = "an experiment has a table, and nothing was trained"
                raise StoreError(f"{path}: contradicts itself: {text}. {REMEDY}")
        elif self.finished != (self.history_sha256 is not None) or (self.finished and not self.entries):
            text = "a finished run has checkpoints and a history, and no other run has a history"
            raise StoreError(f"{path}: contradicts itself: {text}. {REMEDY}")
        parent, last = self.recipe_sha256, -1
        for entry in self.entries:
            if entry.parent != parent or entry.step <= last or entry.file != name_of(entry.step):
                raise StoreError(f"{path}: step {entry.step} does not follow from the checkpoint before it. {REMEDY}")
            parent, last = entry.sha256, entry.step

    def _fields(self) -> dict[str, Any]:
        fields = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        if not self.history_thinned:
            del fields["history_thinned"]  # younger than many a sealed ledger
        lists = {"entries": [vars(entry) for entry in self.entries], "made_with": list(self.made_with)}
        return fields | lists


_SCHEMA = TypeAdapter(Annotated[Ledger, BeforeValidator(_few)])


def _validated(fields: Any, where: Path | str) -> Ledger:
    try:
        return _SCHEMA.validate_python(fields)
    except ValidationError as error:
        raise StoreError(f"{where}: damaged, it is no ledger any more ({_first(error)}). {REMEDY}") from error
    except (ValueError, TypeError) as error:
        raise StoreError(f"{where}: damaged, it is no ledger any more ({error}). {REMEDY}") from error


def _first(error: ValidationError) -> str:
    """What is wrong first, and where."""
    detail = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in detail["loc"]) or "the whole"
    return f"{place[:200]} = {repr(detail['input'])[:80]}: {detail['msg']}"


def _seal(fields: Mapping[str, Any]) -> str:
    return sha256(_line(fields).encode())


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
