"""The machine that the figures were measured on."""

import os
import platform
import re
from pathlib import Path
from typing import Any


def describe_machine() -> dict[str, Any]:
    """Processor, cores, memory, system and Python; no name of the machine."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _find_processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _find_processor() -> str:
    path = Path("/proc/cpuinfo")
    found = (
        re.search(r"model name\s*: (.*)", path.read_text(encoding="utf-8"))
        if path.exists()
        else None
    )
    return found[1] if found else platform.machine()
