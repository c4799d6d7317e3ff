"""Processes that end with those that started them."""

import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any


def end_with_parent() -> None:
    """End this process of ``multiprocessing`` when the one that started it is gone, however it went."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def answering(function: str, shares: Sequence[Sequence[tuple[Any, ...]]]) -> Iterator[list[connection.Connection]]:
    """Inside, one process a share calls a function with each tuple of arguments in it, one after the other.

    None is a fork of this process, whose libraries may hold threads in any state; each imports what its work takes.
    They end with the body. Ctrl-C is left to this process.

    Args:
        function: ``module:function``, so that what it needs is imported there.
        shares: arguments of the calls, by process.

    Yields:
        By share where to receive what its calls return, in their order; EOFError if the process was lost.
    """
    server = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if server else "spawn")
    processes, receivers = [], []
    try:
        for share in shares:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_answer, args=(function, share, sender), daemon=True)
            process.start()
            sender.close()  # else the end of the process would not be the end of what can be received
            processes.append(process)
            receivers.append(receiver)
        yield receivers
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _answer(function: str, share: Sequence[tuple[Any, ...]], sender: connection.Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    module, _, name = function.partition(":")
    call = getattr(importlib.import_module(module), name)
    for given in share:
        sender.send(call(*given))
