"""How the engine is compiled: the decorator, its cache folder, and the bit operations the processor has.

The rules are plain Python functions on integers. `jit` compiles them with Numba; with
``NUMBA_DISABLE_JIT=1`` the very same functions run as they stand ("plain mode").

The cache of compiled code lives in a folder of its own, named after a hash of all engine sources: Numba
itself would notice a change only in the file that defines a function, not in the files it calls.
"""

from __future__ import annotations

import hashlib
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array
from platformdirs import user_cache_dir

F = TypeVar("F", bound=Callable[..., Any])

PLAIN = bool(numba.config.DISABLE_JIT)
"""True when the engine runs uncompiled (``NUMBA_DISABLE_JIT=1``)."""

_STALE_SECONDS = 30 * 24 * 3600


def source_hash() -> str:
    """Hexadecimal digest (16 digits) of every Python source in this package and of Numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _remove_stale(base: Path, keep: Path) -> None:
    """Delete the caches of other source versions that nobody has touched for a month."""
    import shutil

    limit = time.time() - _STALE_SECONDS
    for folder in base.iterdir():
        if folder != keep and folder.is_dir() and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


def cache_folder() -> Path | None:
    """Folder for compiled code, created when missing; None when no place can be written.

    ``NUMBA_CACHE_DIR`` names the parent folder if set; otherwise it is the user's cache directory.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(chosen) / "taash" if chosen else Path(user_cache_dir("taash"))
    folder = base / source_hash()
    fresh = not folder.exists()
    if not _writable(folder):
        return None
    if fresh:
        _remove_stale(base, folder)
    return folder


CACHE_FOLDER = None if PLAIN else cache_folder()


def _compile(function: F, **settings: Any) -> F:
    if PLAIN:
        return function
    settings["nogil"] = True
    if CACHE_FOLDER is None:
        return numba.njit(**settings)(function)  # type: ignore[no-any-return]
    # Numba reads its cache folder when the decorator runs; other users of Numba in the process keep theirs.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        return numba.njit(cache=True, **settings)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def jit(function: F) -> F:
    """Compile `function` on first call for each signature, cached on disk; in plain mode return it unchanged.

    Arrays are borrowed from the caller and references to them not counted, which took a third of the time: such a
    function makes no arrays but a `local_array`, and returns none.
    """
    return _compile(function, _nrt=False)


def jit_with_memory(function: F) -> F:
    """Like `jit`, for functions that make arrays of any size, and their callers."""
    return _compile(function)


def inlined(function: F) -> F:
    """Like `jit`, for small functions that must become part of their caller: its constants then unroll their loops."""
    return _compile(function, forceinline=True, _nrt=False)


@intrinsic(prefer_literal=True)
def _on_stack(_context: Any, size: Any, dtype: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        return None
    array = types.Array(dtype.dtype, 1, "C")

    def build(context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
        element = context.get_data_type(array.dtype)
        width = context.get_constant(types.intp, context.get_abi_sizeof(element))
        result = make_array(array)(context, builder)
        populate_array(
            result,
            data=cgutils.alloca_once(builder, element, size=size.literal_value),
            shape=[context.get_constant(types.intp, size.literal_value)],
            strides=[width],
            itemsize=width,
            meminfo=None,
        )
        return result._getvalue()

    return array(size, dtype), build


local_array: Callable[[int, Any], Any] = np.empty if PLAIN else _on_stack
"""``local_array(size, dtype)`` in compiled code: an array (size,) of anything, of a constant size and a NumPy type.

It lies on the stack and ends with the function that made it.
"""


def popcount(mask: int) -> int:
    """Number of set bits of a non-negative mask."""
    return int(mask).bit_count()


def lowest_bit(mask: int) -> int:
    """Index of the lowest set bit of a positive mask."""
    mask = int(mask)
    return (mask & -mask).bit_length() - 1


def highest_bit(mask: int) -> int:
    """Index of the highest set bit of a positive mask."""
    return int(mask).bit_length() - 1


@intrinsic
def _ctpop(_context: Any, value: Any) -> Any:
    def build(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), build


@intrinsic
def _cttz(_context: Any, value: Any) -> Any:
    def build(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), build


@intrinsic
def _ctlz(_context: Any, value: Any) -> Any:
    def build(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), build


@overload(popcount, strict=False)
def _popcount(mask: int) -> Callable[[int], int]:
    return lambda mask: _ctpop(mask)


@overload(lowest_bit, strict=False)
def _lowest_bit(mask: int) -> Callable[[int], int]:
    return lambda mask: _cttz(mask)


@overload(highest_bit, strict=False)
def _highest_bit(mask: int) -> Callable[[int], int]:
    return lambda mask: 63 - _ctlz(mask)


def nth_bit(mask: int, n: int) -> int:
    """Index of the n-th lowest set bit (n from 0) of a non-negative mask that has more than n bits set."""
    rest = int(mask)
    for _ in range(int(n)):
        rest &= rest - 1
    return lowest_bit(rest)


@intrinsic
def _pdep(_context: Any, value: Any, mask: Any) -> Any:
    def build(_ctx: Any, builder: Any, _signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = builder.module.declare_intrinsic("llvm.x86.bmi.pdep.64", fnty=ir.FunctionType(word, [word, word]))
        return builder.call(function, args)

    return types.int64(types.int64, types.int64), build


def _nth_bit_deposit(mask: int, n: int) -> int:
    return lowest_bit(_pdep(1 << n, mask))


def _nth_bit_search(mask: int, n: int) -> int:
    # A binary search by bit counts, free of branches: the position is random, so a branch would be mispredicted.
    index = 0
    for width in (32, 16, 8, 4, 2, 1):
        low = mask & ((1 << width) - 1)
        count = popcount(low)
        above = 1 if n >= count else 0
        n -= count * above
        index += width * above
        mask = (mask >> width) if above else low
    return index


def _has_deposit() -> bool:
    """Whether compiled code may use the processor's bit-deposit instruction (x86-64 with BMI2)."""
    ordinary = numba.config.CPU_NAME is None and numba.config.CPU_FEATURES is None
    host_is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    return ordinary and host_is_x86 and bool(llvm.get_host_cpu_features().get("bmi2", False))


@overload(nth_bit, strict=False)
def _nth_bit(mask: int, n: int) -> Callable[[int, int], int]:
    return _nth_bit_deposit if _has_deposit() else _nth_bit_search
