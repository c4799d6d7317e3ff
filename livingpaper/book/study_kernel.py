"""One kernel for all notebooks of a study: an appendix finds what its chapter has imported, read and computed.

Modules keep that. A notebook's own names are gone when the next one begins, so that each can be executed alone.
"""

from typing import Any

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync

KERNEL = "python3"
PATIENCE = 60.0
"""Seconds that a kernel has to answer, as papermill gives it."""
FORGET = "get_ipython().reset()"


class _Manager(AsyncKernelManager):
    """One that has a client at a time: whoever gets one closes nothing of a kernel that goes on."""

    _client: AsyncKernelClient | None = None

    def client(self, **kwargs: Any) -> AsyncKernelClient:
        """A new client, in the place of the last one."""
        self.end_client()
        self._client = super().client(**kwargs)
        return self._client

    def end_client(self) -> None:
        """Close what the last client has open."""
        if self._client is not None:
            self._client.stop_channels()
            self._client = None


class StudyKernel:
    """A kernel that executes notebooks one after another, in one thread; ``close`` it in the end."""

    def __init__(self):
        self._manager: _Manager | None = None

    def manager(self) -> AsyncKernelManager:
        """What executes a notebook asks this: of the kernel that is there, without names, or of one to be started."""
        if self._is_alive():
            run_sync(_forget)(self._manager.client())
        else:
            self.close()
            self._manager = _Manager(kernel_name=KERNEL)
        return self._manager

    def close(self) -> None:
        """End the kernel, if there is one; the next notebook gets a new one."""
        if self._manager is None:
            return
        self._manager.end_client()
        run_sync(self._manager.shutdown_kernel if self._is_alive() else self._manager.cleanup_resources)()
        self._manager = None

    def _is_alive(self) -> bool:
        return self._manager is not None and run_sync(self._manager.is_alive)()


async def _forget(client: AsyncKernelClient) -> None:
    """Take all names away that a notebook has left."""
    client.start_channels()
    await client.wait_for_ready(timeout=PATIENCE)
    await client.execute_interactive(FORGET, silent=True, allow_stdin=False, timeout=PATIENCE)
