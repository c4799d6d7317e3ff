"""Ctrl-C at any moment of a command: a sentence and the exit status 130, never a traceback or an abort."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT  # the exit status that shells give a process ended by Ctrl-C


@contextmanager
def exit_while_importing(line: str) -> Iterator[None]:
    """Inside, Ctrl-C while a module is being imported prints ``line`` and ends the process with ``INTERRUPTED``.

    At any other time it raises KeyboardInterrupt as usual. An import cannot be left that way: torch's runs Python from
    C++ that does not expect an exception, and the process would abort. Nothing needs tidying up that a kill would not
    leave as well. In other threads than the main one, and where Ctrl-C is handled already, nothing changes.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if _imports(frame):
            os.write(sys.__stderr__.fileno(), f"{line}\n".encode())  # not print: it may be what was interrupted
            os._exit(INTERRUPTED)
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _imports(frame: FrameType | None) -> bool:
    """Whether an import is under way in ``frame`` or in what called it."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
