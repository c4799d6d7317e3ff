"""What a result was made with: versions of the packages that decide it, and the commit of the code."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import circuitcore

PACKAGES = ("torch", "numpy", "scipy", "pandas", "altair")


def versions() -> dict[str, str]:
    """Python's version and those of the packages a number can depend on; "not installed" where one is absent."""
    # What is imported, not what was installed once: a checkout moves on.
    found = {"python": platform.python_version(), "circuitcore": circuitcore.__version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def commit(root: Path) -> str:
    """The commit checked out in ``root``, marked when files differ from it; "unknown" outside a repository."""
    hash_ = _git(root, "rev-parse", "--short=12", "HEAD")
    if hash_ is None:
        return "unknown (no git repository)"
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return f"{hash_} with local changes" if changed else hash_


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
