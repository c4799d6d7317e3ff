"""What the machine calls its processor."""

import platform
import re
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


def processor() -> str:
    """The processor's own name, with its family where the system tells (names of virtual ones say little)."""
    if not CPU_INFO.is_file():
        return platform.processor() or platform.machine()
    found = dict(re.findall(r"^(model name|cpu family)\s*: (.*)$", CPU_INFO.read_text().split("\n\n")[0], re.M))
    return f"{found.get('model name', platform.machine())}, family {found.get('cpu family', '?')}"
