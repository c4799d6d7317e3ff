"""Compiling the C++ once per processor, into a cache of the user's.

A cached library is named by a hash of the source, the compiler and the processor, so that a change of any of them makes
another one. A new one is used only after it has given autograd's gradients on one small model, and later only while it
is byte for byte that one (``circuitcore.native.cache``).
"""

import ctypes
import functools
import hashlib
import logging
import os
import platform
import shutil
import subprocess
from pathlib import Path

from filelock import FileLock

from circuitcore.ground import durable
from circuitcore.native.cache import cache_folder, distrust, private_folder, record

LOG = logging.getLogger(__name__)
SOURCE = Path(__file__).parent / "source"
FLAGS = ("-O3", "-march=native", "-std=c++17", "-fno-math-errno", "-fno-trapping-math")
FLAGS += ("-shared", "-fPIC", "-fvisibility=hidden")  # hidden: two libraries in one process share nothing
LOCK_SECONDS = 300  # for another process to compile; it takes five
COMPILERS = ("g++", "clang++", "c++")
SWITCH = "CIRCUITCORE_NATIVE"  # "0" in the environment: do without


class BuildError(Exception):
    """The native engine cannot be used here; the text says why, in one sentence."""


def why_not() -> str:
    """Why the native engine cannot be used here, in one sentence; empty where it can."""
    found = _opened(os.environ.get(SWITCH, ""))
    return found if isinstance(found, str) else ""


def open_library() -> ctypes.CDLL:
    """The compiled code, built now if this machine has none yet (a few seconds, once).

    Raises:
        BuildError: no compiler, a processor without AVX2, a cache that cannot be written, or wrong results.
    """
    found = _opened(os.environ.get(SWITCH, ""))
    if isinstance(found, str):
        raise BuildError(found)
    return found


@functools.cache  # of a failure, too: trying again costs the same seconds again
def _opened(switch: str) -> ctypes.CDLL | str:
    """The library, or why there is none."""
    try:
        return _open(switch)
    except BuildError as error:
        return str(error)


def _open(switch: str) -> ctypes.CDLL:
    if switch == "0":
        raise BuildError(f"it is switched off ({SWITCH}=0)")
    compiler = next((path for name in COMPILERS if (path := shutil.which(name))), None)
    if compiler is None:
        raise BuildError(f"no C++ compiler was found (looked for {', '.join(COMPILERS)})")
    name, folder = f"native-{_key(compiler)}.so", Path("the user's cache folder")
    try:
        folder = cache_folder()
        path = private_folder(folder) / name
        with FileLock(path.with_suffix(".lock"), timeout=LOCK_SECONDS):  # many workers start at once, one compiles
            if os.path.lexists(path) and (reason := distrust(path)):
                LOG.warning("%s is not loaded but compiled again: %s.", path, reason)
                path.unlink()
            if not path.exists():
                if path.parent != folder:
                    LOG.warning("%s belongs to another user; the native engine is kept in %s.", folder, path.parent)
                _build(compiler, path)
            return ctypes.CDLL(str(path))
    except OSError as error:
        raise BuildError(f"{folder} cannot be used as its cache ({error.strerror or error})") from error


def _key(compiler: str) -> str:
    digest = hashlib.sha256()
    for path in sorted(SOURCE.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    words = (compiler, _run(compiler, "--version").stdout, " ".join(FLAGS), _processor())
    digest.update("\0".join(words).encode())
    return digest.hexdigest()[:16]


def _run(compiler: str, *words: str) -> subprocess.CompletedProcess:
    try:
        return subprocess.run([compiler, *words], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise BuildError(f"{Path(compiler).name} cannot be run ({error.strerror or error})") from error


def _processor() -> str:
    """The processor's name and abilities: ``-march=native`` makes code for these alone."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    first = lines[: lines.index("")] if "" in lines else lines
    return "\n".join(line for line in first if line.startswith(("model name", "flags", "Features")))


def _build(compiler: str, path: Path) -> None:
    """Compile, try, and only then give the library its name."""
    from circuitcore.native.trial import differs_from_autograd

    fresh = path.with_suffix(f".{os.getpid()}.so")
    made = _run(compiler, *FLAGS, str(SOURCE / "api.cpp"), "-o", str(fresh))
    if made.returncode or not fresh.exists():
        message = next((line for line in made.stderr.splitlines() if "error" in line), made.stderr.strip()[:200])
        reason = message.split("error:")[-1].strip() or "it gave no reason"
        raise BuildError(f"{Path(compiler).name} could not compile it ({reason})")
    try:
        wrong = differs_from_autograd(ctypes.CDLL(str(fresh)))
        if wrong:
            raise BuildError(f"what {Path(compiler).name} made of it gives wrong gradients ({wrong})")
        record(path, hashlib.sha256(fresh.read_bytes()).hexdigest())
        durable.rename(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
