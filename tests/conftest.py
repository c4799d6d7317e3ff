"""How all tests run: one thread of torch's a process, and types checked without what makes that slow."""

import dataclasses
import inspect
import os

# Two processes of two threads on two cores wait for each other most of the time. Before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import jaxtyping  # noqa: E402

with_shapes = jaxtyping.jaxtyped


def jaxtyped(fn=None, *, typechecker):
    """As jaxtyping's own, which its import hook puts on every function; where no shapes are to agree, types alone.

    Its wrapper binds arguments anew for every call, and an inner function would be wrapped anew for each call of the
    outer one: more than half of the time of a test that trains. So an inner function is left as it is.
    """
    if fn is None:
        return lambda fn: jaxtyped(fn, typechecker=typechecker)
    if "<locals>" in fn.__qualname__:
        return fn
    if dataclasses.is_dataclass(fn) and "__init__" in vars(fn) and not has_shapes(fn.__init__):
        fn.__init__ = typechecker(fn.__init__)
        return fn
    if inspect.isfunction(fn) and not has_shapes(fn):
        return typechecker(fn)
    return with_shapes(fn, typechecker=typechecker)


def has_shapes(fn) -> bool:
    """Whether a function is annotated with the shape of anything."""
    return "jaxtyping." in repr(fn.__annotations__)


jaxtyping.jaxtyped = jaxtyped
