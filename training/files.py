"""Files that are, at any moment, either the old ones or the complete new ones."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def partial_name(path: Path) -> Path:
    """Where this process writes what is to take a file's place."""
    return path.with_name(f".{path.name}.{os.getpid()}.partial")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; OSError if it cannot be written, or is a device or a folder."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    partial = partial_name(path)
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        # A write that fails does not say where.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        partial.unlink(missing_ok=True)
