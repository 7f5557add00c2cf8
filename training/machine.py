"""What figures and agents were made on."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """``processor``: its name as the system gives it (str), and ``cores``: how many it shows (int)."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        entries = (line.partition(":") for line in cpuinfo.read_text().splitlines())
        processor = next((value.strip() for key, _, value in entries if key.strip() == "model name"), processor)
    return {"processor": processor, "cores": os.cpu_count() or 1}
