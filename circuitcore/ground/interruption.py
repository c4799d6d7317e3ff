"""Ctrl-C at any moment of a command: a sentence and the exit status 130, never a traceback or an abort."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT  # the exit status that shells give a process ended by Ctrl-C


class Interrupted(SystemExit):
    """Ctrl-C in a command. Not KeyboardInterrupt: Sphinx takes that for the failure of a page, and goes on."""


@contextmanager
def ended_by_ctrl_c(line: str) -> Iterator[None]:
    """Inside, Ctrl-C prints ``line`` and ends the process with ``INTERRUPTED``.

    What the main thread does is unwound, so that temporary files and worker processes go. Then nothing is waited for:
    a notebook that another thread executes would go on for minutes, and its kernel ends with this process. While a
    module is being imported nothing is unwound: torch's import runs Python from C++ that does not expect an exception,
    and the process would abort. Either way no more is left than a kill would leave.

    In other threads than the main one, and where Ctrl-C is handled already, nothing changes.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if _imports(frame):
            _end(line)
        raise Interrupted(INTERRUPTED)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    except Interrupted:
        _end(line)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def held_back() -> Iterator[None]:
    """Inside, Ctrl-C waits for the end of the body; in other threads than the main one nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if seen:
            signal.raise_signal(signal.SIGINT)


def _end(line: str) -> None:
    with suppress(OSError, ValueError, RuntimeError):  # the last: it was being written to when the signal came
        sys.stdout.flush()
    os.write(sys.__stderr__.fileno(), f"{line}\n".encode())  # not print: it may be what was interrupted
    os._exit(INTERRUPTED)


def _imports(frame: FrameType | None) -> bool:
    """Whether an import is under way in ``frame`` or in what called it."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
