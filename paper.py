#!/usr/bin/env python3
"""One command for a newcomer: python3 paper.py book | test [FLOOR] | reproduce [CHAPTER] | bench [OPTIONS].

Everything is installed in .venv, once. Needs Python 3.11 or newer and nothing else.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from contextlib import suppress
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - a newcomer may start this with any Python
    sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")

from circuitcore.ground.durations import Durations, duration  # noqa: E402 - these need nothing but that Python
from circuitcore.ground.interruption import INTERRUPTED  # noqa: E402

USAGE = """usage: python3 paper.py COMMAND

  book                 build the book from the published runs and print where it is
  test [FLOOR]         check the code and run every test, the browser tests included;
                       FLOOR: the tests of library, paper, studies or book alone;
                       --quick instead: unit tests and oracles that take no seconds
  reproduce [CHAPTER]  train everything again and compare with the published numbers
  bench [OPTIONS]      time the library beside its peers on this machine (--help lists the options)
"""
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
SELDOM_IMPORTED = r"[/\\](tests?|sympy|networkx|pip|setuptools|torch[/\\](_inductor|ao|onnx|testing))[/\\]"
OURS = tuple(ROOT / name for name in ("circuitcore", "livingpaper", "retrieval_circuits"))
CPU_TORCH = "https://download.pytorch.org/whl/cpu"
# One worker a core; a file is one worker's, since its tests share what is trained or opened for them.
SIDE_BY_SIDE = ("-n", "logical", "--maxprocesses", "4", "--dist", "loadfile", "--no-loadscope-reorder")
FLOORS = ("library", "paper", "studies", "book")
QUICK = "--quick"
# The first is Chromium without windows: the same pages for a third less processor time.
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)


def find_browser() -> str | None:
    """The path of a Chromium, Chrome or Edge: the one CHROMIUM names, else the first that is found."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def run(*arguments: str) -> int:
    """Run the environment's Python in the project's folder; returns its exit code. Ctrl-C is left to it to answer.

    It keeps its bytecode even where Python is told to write none: tests start hundreds of processes, and each would
    compile the project and pytest's plugins for itself.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen([str(PYTHON), *arguments], cwd=ROOT, env=kept) as program:
        try:
            return program.wait()
        except KeyboardInterrupt:
            if program.wait() == INTERRUPTED:  # it has said so
                sys.exit(INTERRUPTED)
            raise


def pip_install(*arguments: str) -> int:
    """Install into the environment, quietly; returns pip's exit code."""
    return run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *arguments)


def compile_packages() -> None:
    """Compile what was installed, and what is here, on all cores; pip would do it on one, and all of it.

    What is hardly ever imported is left to whoever imports it: packages' tests, and much of torch.
    """
    with suppress(OSError):  # it only makes every start faster
        run("-m", "compileall", "-qq", "-j", "0", "-x", SELDOM_IMPORTED, str(VENV), *map(str, OURS))


def fingerprint() -> str:
    """What the environment is made from; when it changes, the environment is brought up to date."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {ROOT}".encode())
    for name in ("requirements.txt", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def works(program: str) -> bool:
    """Whether the environment's Python can be started, and runs ``program`` to its end."""
    try:
        return run("-c", program) == 0
    except OSError:  # there is none, or what is there is no program of this system
        return False


def set_up() -> None:
    """Create or update .venv unless it is as the project's pins want it."""
    marker = VENV / "installed"
    if marker.is_file() and marker.read_bytes() == fingerprint().encode() and works("pass"):
        return
    print("Setting up .venv (once; a minute or more, 1.8 GB) ...", flush=True)
    try:
        marker.unlink(missing_ok=True)
        if not works("import pip"):
            venv.create(VENV, clear=True, with_pip=True)
    except subprocess.CalledProcessError:
        sys.exit("This Python cannot create environments. On Debian or Ubuntu: apt-get install python3-venv")
    except (OSError, ValueError) as error:  # venv raises both of what is in its way
        sys.exit(f"{VENV} cannot be made ({error}). Delete it, and run the same command again.")
    pins = (ROOT / "requirements.txt").read_text().splitlines()
    torch = next(pin for pin in pins if pin.startswith("torch=="))
    # The CPU build of torch is 2 GB smaller. Its index is asked once, for torch alone; where it cannot be reached,
    # the same version comes from wherever pip looks.
    pip_install("--retries", "0", "--extra-index-url", CPU_TORCH, torch)
    if pip_install("-r", "requirements.txt") or pip_install("--no-deps", "-e", "."):
        sys.exit("The packages could not be installed; pip's message is above.")
    compile_packages()
    marker.write_text(fingerprint())


def test(floors: list[str]) -> int:
    """Lint and test; says so last when the browser tests could not run, which in CI is a failure."""
    durations, name = Durations.of(ROOT), " ".join(["test", *floors])
    known = durations.here().get(name)
    print(f"Linting and testing: {f'expected {duration(known)}' if known else 'not timed here before'}.", flush=True)
    start = time.perf_counter()
    code = run("-m", "ruff", "check", ".")
    chosen = quick_tests() if floors == [QUICK] else [f"tests/{floor}" for floor in floors]
    code = run("-m", "pytest", *SIDE_BY_SIDE, *chosen) or code
    if code == 0:
        durations.remember(name, time.perf_counter() - start)
    if find_browser() or (floors and "book" not in floors):
        return code
    print(
        "\nNo browser was found, so the pages were not opened: the browser tests did not run."
        "\nInstall Chromium, Chrome or Edge, or set CHROMIUM to its path, and run this again."
    )
    return code or int(os.environ.get("CI") == "true")


def quick_tests() -> list[str]:
    """What pytest is told to run of the tests that train nothing, start nothing and open no page."""
    folders = [folder for kind in ("unit", "oracles") for folder in sorted((ROOT / "tests").glob(f"*/{kind}"))]
    found = [*folders, *sorted((ROOT / "tests").glob("test_*.py"))]
    return ["-m", "not slow", *(path.relative_to(ROOT).as_posix() for path in found)]


def main(words: list[str]) -> int:
    """Do what the words say; returns the exit code (2: they say nothing known)."""
    if words in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    command, *rest = words or [""]
    tested = rest == [QUICK] or set(rest) <= set(FLOORS)
    allowed = {"book": not rest, "test": tested, "bench": True, "reproduce": len(rest) <= 1}
    if not allowed.get(command):
        print(USAGE, end="", file=sys.stderr)
        return 2
    set_up()
    if words == ["book"]:
        return run("-m", "livingpaper.book.build")
    if command == "test":
        return test(rest)
    if words[0] == "bench":
        return run("-m", "benchmarks", *words[1:])
    return run("-m", "livingpaper.commands.reproduce", *words[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on from where it was.", file=sys.stderr)
        sys.exit(130)
