"""A note of what stopped a run, left beside the runs until the run is taken up again."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from circuitcore.training.errors import StoreError
from circuitcore.training.store.durable import write_durably

FAILURE_FOLDER = ".failed"


@dataclass(frozen=True)
class FailureNote:
    """Why a run ended before its time. It only informs: training never reads it.

    Attributes:
        path: a small text file; there is none for a run that is well, or was killed too suddenly to leave one.
    """

    path: Path

    @classmethod
    def of(cls, root: Path, run_id: str) -> "FailureNote":
        """That of a run kept in the folder ``root``."""
        return cls(root / FAILURE_FOLDER / run_id)

    @contextmanager
    def left_on_error(self) -> Iterator[None]:
        """Forget what stopped the run before; whatever stops it inside is written down. The caller holds the run."""
        self.remove()
        try:
            yield
        except Exception as error:
            self.leave(error)
            raise

    def leave(self, error: BaseException) -> None:
        """Write down ``error``. A disk that cannot take the note must not hide the error itself."""
        with suppress(StoreError):
            write_durably(self.path, f"{type(error).__name__}: {error}\n".encode())

    def read(self) -> str | None:
        """What was written down; None where there is no note."""
        try:
            return self.path.read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return None

    def remove(self) -> None:
        """Forget it."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
