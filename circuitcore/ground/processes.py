"""Processes that end with those that started them."""

import multiprocessing
import os
import threading
from multiprocessing import connection


def end_with_parent() -> None:
    """End this process of ``multiprocessing`` when the one that started it is gone, however it went."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
