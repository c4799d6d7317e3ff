"""What can go wrong with recipes and stored runs. Every message names the file or field, what was seen, the remedy."""

from collections.abc import Mapping

from circuitcore.ground.errors import UserError

REMEDY = "Restore the file (a published one with git restore), or delete the run's folder: it is made again."


class RecipeError(ValueError):
    """A recipe that cannot be trained as written; the text names the field, what was given, what is allowed."""


class StoreError(UserError):
    """A run's files cannot be written or read; the text names the file and the remedy."""


class CheckpointError(StoreError):
    """A checkpoint is absent, damaged, another one than its name says, or no checkpoint at all."""


class DivergedError(ArithmeticError):
    """The training loss stopped being a number."""


class ExecutorError(UserError, RuntimeError):
    """Runs that an executor could not finish.

    Attributes:
        failures: run id -> what happened. Runs that are not named here finished.
    """

    def __init__(self, message: str, failures: Mapping[str, BaseException] | None = None):
        super().__init__(message)
        self.failures = dict(failures or {})
