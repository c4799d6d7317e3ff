"""The environment of processes started from here, changed for a while."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def exported(wanted: Mapping[str, str]) -> Iterator[None]:
    """Give the processes started inside these environment variables; puts back what was there before."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
