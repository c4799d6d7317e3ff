"""Running one function over many recipes: in this process, in a pool of processes, or on a Dask cluster.

Experiments of one seed are run as recipes are.

The executors "cuda" and "cuda:1" are for training alone (``sweep.train_all``): there, runs are stacked on that device.
Whatever else is asked of them is done by a pool of processes.
"""

import importlib
import multiprocessing
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.context import BaseContext
from operator import attrgetter
from typing import Any, TypeAlias

import torch

from circuitcore.ground.environment import n_workers
from circuitcore.ground.processes import end_with_parent
from circuitcore.ground.spelling import unknown
from circuitcore.training.engines.engine import one_thread
from circuitcore.training.errors import ExecutorError
from circuitcore.training.experiment import Experiment
from circuitcore.training.recipe import Recipe

# A lost worker's run goes on from its last checkpoint. A run that loses its worker every time (no memory, say)
# must not be tried for ever.
MAX_LOST_POOLS = 3
CONNECT_SECONDS = 10
ALLOWED = ("serial", "processes", "cuda", "cuda:1", "tcp://HOST:PORT", "tls://HOST:PORT")
SCHEMES = ("tcp://", "tls://", "ucx://", "ws://", "wss://")
ENCRYPTED = ("tls://", "wss://")
Job: TypeAlias = Recipe | Experiment
Function = Callable[[Any], Any] | str


def map_runs(
    function: Function,
    recipes: Sequence[Job],
    executor: str = "processes",
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Any]:
    """``function(recipe)`` for each recipe; the results in the order of ``recipes``.

    torch runs on one thread in every worker, so results do not depend on the executor.

    Args:
        function: a function of the top level of a module, or ``"module:function"``.
        recipes: what to call it with.
        executor: "serial"; "processes", a pool of processes on this machine; or the address of a Dask scheduler
            ("tcp://HOST:PORT", or "tls://HOST:PORT" with the certificates that Dask's configuration names), whose
            workers must see the store's folder and hold this library; "cuda" as "processes".
        workers: processes in the pool; None for one per core. A cluster has its own number.
        progress: called with the number of recipes that are done, after each.

    Raises:
        ExecutorError: unknown executor, or recipes that failed. The others have then finished; the message and
            ``failures`` name each failed one.
    """
    call, side_by_side = partial(_call, function), min(len(recipes), width(executor, workers))
    if executor.startswith(SCHEMES):
        outcomes = _cluster(call, recipes, executor)
    elif side_by_side > 1:
        outcomes = _processes(call, recipes, side_by_side)
    else:
        outcomes = _serial(call, recipes)
    return collect(recipes, outcomes, progress or (lambda done: None))


def stacked_device(executor: str) -> str | None:
    """The device on which ``executor`` trains stacks of runs: "cuda", "cuda:1"; None for all other executors."""
    return executor if re.fullmatch(r"cuda(:\d+)?", executor) else None


def check_device(device: str) -> None:
    """Refuse a CUDA device that this machine does not have.

    Raises:
        ExecutorError: it says what there is.
    """
    kind, _, number = device.partition(":")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        there = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
        found = f"this machine has {', '.join(there)}" if there else "torch finds no CUDA device on this machine"
        raise ExecutorError(f"executor {device!r}: {found}; allowed: {', '.join([*there, 'serial', 'processes'])}")


def require_executor(executor: str) -> None:
    """ExecutorError for a word that names no executor; whether a scheduler answers at an address is not asked."""
    known = executor in ("serial", "processes") or executor.startswith(SCHEMES)
    if not known and stacked_device(executor) is None:
        raise ExecutorError(unknown("executor", executor, ALLOWED))


def width(executor: str, workers: int | None = None) -> int:
    """How many recipes an executor has room for side by side.

    "serial": 1. "processes" and "cuda": ``workers``, by default one per core this process may use, or as many as
    ``CIRCUITCORE_WORKERS`` says. A cluster: its workers.

    Raises:
        ExecutorError: unknown executor, fewer than one worker, or no scheduler at that address.
    """
    if workers is not None and workers < 1:
        raise ExecutorError(f"workers = {workers}; allowed: at least 1")
    if executor.startswith(SCHEMES):
        with _client(executor) as client:
            return max(1, len(client.nthreads()))
    require_executor(executor)
    return 1 if executor == "serial" else workers or n_workers()


Outcomes = Iterator[tuple[int, Any, BaseException | None]]


def collect(recipes: Sequence[Job], outcomes: Outcomes, progress: Callable[[int], None]) -> list[Any]:
    """The results in the order of ``recipes``, once all outcomes (index, result, error) are in.

    Raises:
        ExecutorError: recipes that failed, as ``map_runs`` says it.
    """
    results, failures = {}, {}
    for index, result, error in outcomes:
        if error is None:
            results[index] = result
        else:
            failures[index] = error
        progress(len(results) + len(failures))
    refuse_failures({recipes[index].run_id: error for index, error in sorted(failures.items())}, len(recipes))
    return [results[index] for index in range(len(recipes))]


def refuse_failures(failures: Mapping[str, BaseException], n_runs: int) -> None:
    """ExecutorError for runs, of so many, that failed: run id -> what happened. None where there are none."""
    if failures:
        lines = "\n".join(f"  {run_id}: {_told(error)}" for run_id, error in failures.items())
        others = ", the others are done" if len(failures) < n_runs else ""
        text = f"{len(failures)} of {n_runs} runs failed{others}:\n{lines}"
        raise ExecutorError(text, dict(failures)) from next(iter(failures.values()))


def _told(error: BaseException) -> str:
    notes = "; ".join(getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {error}{f' ({notes})' if notes else ''}"


def _call(function: Function, recipe: Job) -> Any:
    if isinstance(function, str):
        module, _, name = function.partition(":")
        function = attrgetter(name)(importlib.import_module(module))
    with one_thread():
        return function(recipe)


def _serial(call: Callable[[Recipe], Any], recipes: Sequence[Job]) -> Outcomes:
    for index, recipe in enumerate(recipes):
        try:
            yield index, call(recipe), None
        except Exception as error:
            yield index, None, error


def _processes(call: Callable[[Recipe], Any], recipes: Sequence[Job], workers: int) -> Outcomes:
    """A pool; when a worker dies the whole pool is lost, and a new one takes what is left."""
    left, lost = set(range(len(recipes))), 0
    while left:
        before = len(left)
        # A pool that broke says so in every future that is left, and already in submit() if it breaks early.
        with _pool(workers) as pool, suppress(BrokenProcessPool):
            futures = {pool.submit(call, recipes[index]): index for index in sorted(left)}
            for future in as_completed(futures):
                result, error = _outcome(future)
                if isinstance(error, BrokenProcessPool):
                    break
                left.remove(futures[future])
                yield futures[future], result, error
        lost = lost + 1 if len(left) == before else 0
        if left and lost == MAX_LOST_POOLS:
            for index in sorted(left):
                reason = f"its worker process was lost {lost} times in a row (out of memory, or killed)"
                yield index, None, ExecutorError(reason)
            return


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    context = _process_context()
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=end_with_parent)
    try:
        yield pool
    except BaseException:  # an interrupted kernel must not leave workers training behind it
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _process_context() -> BaseContext:
    """How worker processes begin: never as a fork of this one, whose torch may hold threads in any state.

    Where there is a fork server, a clean process imports torch once and every worker is a fork of that; elsewhere
    each worker starts and imports for itself.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _cluster(call: Callable[[Recipe], Any], recipes: Sequence[Job], address: str) -> Outcomes:
    """A Dask scheduler hands a lost worker's recipe to another worker, which goes on from the last checkpoint."""
    with _client(address) as client:
        if (most := max(client.nthreads().values(), default=1)) > 1:
            raise ExecutorError(
                f"a worker at {address} has {most} threads, and trains a run in each; how many threads torch may use "
                "is one number of the process. Start workers with --nthreads 1, and more of them"
            )
        futures = {client.submit(call, recipe, pure=False): index for index, recipe in enumerate(recipes)}
        for future in importlib.import_module("distributed").as_completed(futures, loop=client.loop):
            yield futures[future], *_outcome(future)


def _client(address: str):
    """A connection to a Dask scheduler; ``distributed`` is an extra, so it is imported only here."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        text = f"executor {address!r} needs Dask; install it with: pip install 'circuitcore[cluster]'"
        raise ExecutorError(text) from error
    security = _security(address)
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False, security=security)
    except OSError as error:
        raise ExecutorError(f"no Dask scheduler answers at {address} ({error})") from error


def _security(address: str):
    """What Dask's configuration says of encryption, if that is enough for ``address``; asked before anything is sent.

    Raises:
        ExecutorError: an encrypted address without certificates that can be used, or an open one where the
            configuration allows encrypted ones only.
    """
    security = importlib.import_module("distributed.security").Security()
    try:
        certificates = security.get_connection_args("client")["ssl_context"]
    except OSError as error:
        raise ExecutorError(f"executor {address!r}: the certificates in Dask's configuration: {error}") from error
    if address.startswith(ENCRYPTED) and certificates is None:
        raise ExecutorError(
            f"executor {address!r} needs certificates: name them in Dask's configuration, as distributed.comm.tls."
            "ca-file, .client.cert and .client.key"
        )
    if security.require_encryption and not address.startswith(ENCRYPTED):
        raise ExecutorError(
            f"executor {address!r} is not encrypted, and Dask's configuration (distributed.comm.require-encryption) "
            "allows encrypted ones only: tls://HOST:PORT"
        )
    return security


def _outcome(future: Any) -> tuple[Any, BaseException | None]:
    error = future.exception()
    return (None, error) if error is not None else (future.result(), None)
