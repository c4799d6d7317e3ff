"""What a task raises; apart from the rest, so that every module about tasks can import it."""


class TaskError(ValueError):
    """A task was asked for something it cannot give; the text says what, and what it can give."""


class OutsideTaskError(TaskError):
    """A file names a task from outside this package, and nobody allowed it: its code was not imported."""
