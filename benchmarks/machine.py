"""What the bench runs on: processor, versions, and the best rate at which one core multiplies."""

import os
import platform
import re
import shutil
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version

import torch

from circuitcore import native
from circuitcore.ground.processor import processor

SIZES = (256, 512, 1024, 2048)  # square matrices; the best of them counts
PACKAGES = ("torch", "numpy", "circuitcore")


def description() -> dict[str, str | int]:
    """Processor, cores, vector instructions, and the versions of what computes."""
    info = {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "compiler": compiler(),
        "blas": blas(),
    }
    for package in PACKAGES:
        info[package] = installed(package)
    return info


def installed(package: str) -> str:
    """Version of a package, or "not installed"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def compiler() -> str:
    """First line of what the C++ compiler says about itself."""
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if not found:
        return "none"
    done = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else "unknown"


def blas() -> str:
    """The library behind torch's matrix products."""
    found = re.search(
        r"(?:oneAPI Math Kernel Library|OpenBLAS)(?: Version [\d.]+)?|Accelerate", torch.__config__.show()
    )
    return found.group().strip() if found else "unknown"


def peak_gflops(seconds: float) -> float | None:
    """Fused multiply-adds of one core on registers alone, in GFLOP/s; None without the compiled library."""
    return None if native.why_not() else native.peak_gflops(seconds)


def matmul_gflops(seconds: float) -> float:
    """The best rate of torch's own fp32 matrix product on this core, in GFLOP/s of CPU time."""
    return max(_matmul_rate(size, seconds / len(SIZES)) for size in SIZES)


def _matmul_rate(size: int, seconds: float) -> float:
    a, b = torch.randn(size, size), torch.randn(size, size)
    out = a @ b
    count, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds or not count:
        torch.mm(a, b, out=out)
        count += 1
    return 2 * size**3 * count / spent / 1e9
