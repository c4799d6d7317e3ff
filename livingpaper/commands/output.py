"""Standard output where nobody reads it: closed before a command starts, or by its reader, such as head."""

import os
import sys
from contextlib import suppress

CUT_SHORT = 128 + 13
"""Exit status of a command whose reader went, as a shell says it: what was to be done may not be."""


def open_output() -> None:
    """Let what is written go nowhere where standard output was closed before the start."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - open until the end


def drop_output() -> None:
    """Let what is still to be written go nowhere: Python writes it out when it ends, and would complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
