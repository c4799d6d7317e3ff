"""Processes that end with those that started them."""

import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
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
def answering(function: str, shares: Sequence[Iterable[tuple[Any, ...]]]) -> Iterator[list[connection.Connection]]:
    """Inside, one process a share calls a function with each tuple of arguments in it, one after the other.

    None is a fork of this process, whose libraries may hold threads in any state; each imports what its work takes.
    They end with the body. Ctrl-C is left to this process.

    Args:
        function: ``module:function``, so that what it needs is imported there.
        shares: arguments of the calls, by process, which gets a copy to go through.

    Yields:
        By share where to receive what its calls return, in their order; EOFError if the process was lost.
    """
    context, processes, receivers = _context(), [], []
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


class BothEnds:
    """Places of a list: one process takes them from the front, those of ``answering`` from the back, each place once.

    Args:
        n_places: how many there are.
    """

    def __init__(self, n_places: int):
        self._left = _context().Array("q", [0, n_places])

    def take_first(self) -> bool:
        """Whether the first place that is left was still to be had; False when none is left."""
        with self._left.get_lock():
            first, end = self._left
            self._left[0] = min(first + 1, end)
            return first < end

    def take_last(self) -> Iterator[int]:
        """The last place that is left, one after the other."""
        while True:
            with self._left.get_lock():
                first, end = self._left
                if first == end:
                    return
                self._left[1] = end - 1
            yield end - 1


def _context() -> multiprocessing.context.BaseContext:
    server = "forkserver" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if server else "spawn")


def _answer(function: str, share: Iterable[tuple[Any, ...]], sender: connection.Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    module, _, name = function.partition(":")
    call = getattr(importlib.import_module(module), name)
    for given in share:
        sender.send(call(*given))
