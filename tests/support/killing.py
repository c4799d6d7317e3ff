"""A run that is killed at a step, and the files it leaves."""


class Killed(Exception):
    """Stands for whatever ends a process."""


def killed_at(step):
    """A report that ends the training once ``step`` updates are done."""

    def report(done):
        if done == step:
            raise Killed

    return report


def files(run):
    """Name -> bytes of everything in a run's folder."""
    found = (path for path in run.path.rglob("*") if path.is_file())
    return {path.relative_to(run.path).as_posix(): path.read_bytes() for path in found}
