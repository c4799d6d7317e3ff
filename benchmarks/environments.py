"""The environment in which TransformerLens is measured: made once, beside the project's own and on top of its torch."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

WANTED = "transformer-lens<4"  # 4.0 dropped HookedTransformer


@dataclass(frozen=True)
class Lens:
    """A Python that has TransformerLens; ``python`` is None where it has not, and ``reason`` says why."""

    python: Path | None
    reason: str = ""


def is_made(folder: Path) -> bool:
    """Whether the environment is there and belongs to this Python."""
    marker = folder / "installed"
    return marker.is_file() and marker.read_text() == _fingerprint()


def lens(folder: Path) -> Lens:
    """Find or make the environment. It sees this one's packages, so that both measure the same torch."""
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):  # two processes may want it at once
        reason = "" if is_made(folder) else _make(folder, python)
    return Lens(None, reason) if reason else Lens(python)


def _make(folder: Path, python: Path) -> str:
    """Make the environment; returns why it could not be made, or nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder)
        site = sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
        # Packages installed here come first, those of the environment the bench runs in, pip too, after them.
        Path(site, "shared.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    except (OSError, subprocess.CalledProcessError) as error:
        return f"its environment could not be made: {error}"
    # Not compiled: most of it is never imported.
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", WANTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        return f"{WANTED} could not be installed: {last[-1]}"
    (folder / "installed").write_text(_fingerprint())
    return ""


def _fingerprint() -> str:
    return f"{WANTED} {sys.version_info[:2]} {sys.executable}"


def lens_version(found: Lens) -> str:
    """The version that is measured, or "not installed"."""
    if found.python is None:
        return "not installed"
    words = "from importlib.metadata import version; print(version('transformer-lens'))"
    done = subprocess.run([str(found.python), "-c", words], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
