"""Features as named blocks of zeros and ones: writing them fast, naming them, and reading them back.

A `Layout` lists the blocks of a feature vector in order. The compiled writers of the games write the blocks in the
same order with `put8`, `put32` and `put64`: flags kept as bits become bytes with a vector instruction or two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from envs.jit import inlined


def _spread(out: Any, at: int, bits: int, lanes: int) -> None:
    bits = int(bits)
    out[at : at + lanes] = [bits >> lane & 1 for lane in range(lanes)]


def _spread_intrinsic(lanes: int) -> Any:
    """Compiled form of `_spread`: one vector instruction or two, where a loop would take a store for each bit."""

    @intrinsic
    def spread(_context: Any, out: Any, at: Any, bits: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0])
            flags = builder.bitcast(
                builder.trunc(args[2], ir.IntType(lanes)) if lanes < 64 else args[2],
                ir.VectorType(ir.IntType(1), lanes),
            )
            data = builder.zext(flags, ir.VectorType(ir.IntType(8), lanes))
            place = builder.bitcast(builder.gep(array.data, [args[1]]), data.type.as_pointer())
            builder.store(data, place, align=1)
            return context.get_dummy_value()

        return types.none(out, types.int64, types.int64), build

    return spread


def spread8(out: Any, at: int, bits: int) -> None:
    """Write the lowest 8 bits to ``out[at:at+8]`` as bytes of 0 or 1."""
    _spread(out, at, bits, 8)


def spread32(out: Any, at: int, bits: int) -> None:
    """Write the lowest 32 bits to ``out[at:at+32]`` as bytes of 0 or 1."""
    _spread(out, at, bits, 32)


def spread64(out: Any, at: int, bits: int) -> None:
    """Write 64 bits to ``out[at:at+64]`` as bytes of 0 or 1."""
    _spread(out, at, bits, 64)


_spread8, _spread32, _spread64 = _spread_intrinsic(8), _spread_intrinsic(32), _spread_intrinsic(64)


@overload(spread8, strict=False)
def _spread8_compiled(out: Any, at: Any, bits: Any) -> Callable[..., None]:
    return lambda out, at, bits: _spread8(out, at, bits)


@overload(spread32, strict=False)
def _spread32_compiled(out: Any, at: Any, bits: Any) -> Callable[..., None]:
    return lambda out, at, bits: _spread32(out, at, bits)


@overload(spread64, strict=False)
def _spread64_compiled(out: Any, at: Any, bits: Any) -> Callable[..., None]:
    return lambda out, at, bits: _spread64(out, at, bits)


@inlined
def put8(out: Any, at: int, bits: int, width: int) -> int:
    """Write the lowest `width` (1..8) bits of `bits` to ``out[at:at+width]``, bit 0 first; returns at + width.

    Bits above `width` must be zero. Blocks are written in order, because a block clears what follows it, up to
    ``out[at:at+8]``; the last block of a vector is written with `put_last`.
    """
    spread8(out, at, bits)
    return at + width


@inlined
def put32(out: Any, at: int, bits: int, width: int) -> int:
    """The same for a block of up to 32 features; clears up to ``out[at:at+32]``."""
    spread32(out, at, bits)
    return at + width


@inlined
def put64(out: Any, at: int, bits: int, width: int) -> int:
    """The same for a block of up to 62 features; clears up to ``out[at:at+64]``."""
    spread64(out, at, bits)
    return at + width


@inlined
def put_last(out: Any, at: int, bits: int, width: int) -> int:
    """The same for the last block, of 8 to 62 features: nothing beyond it is touched."""
    if width >= 32:
        spread32(out, at, bits)
        spread32(out, at + width - 32, bits >> (width - 32))
    else:
        for done in range(0, width - 7, 8):
            spread8(out, at + done, bits >> done)
        spread8(out, at + width - 8, bits >> (width - 8))
    return at + width


@inlined
def one_hot(value: int, width: int) -> int:
    """Bit `value` alone, or nothing where it lies outside 0..width-1."""
    return 1 << value if 0 <= value < width else 0


@inlined
def thermometer(value: int, width: int) -> int:
    """The lowest `value` bits, at most `width`."""
    return (1 << max(0, min(value, width))) - 1


@dataclass(frozen=True)
class Block:
    """One named group of features."""

    name: str
    """Name, unique in its layout; blocks about seats end in the relative seat, ``bid+1``."""
    labels: tuple[str, ...]
    """What each feature of the block says."""
    text: str = ""
    """One sentence for the documentation."""


@dataclass(frozen=True)
class Layout:
    """Blocks of a feature vector, in the order in which they are written."""

    blocks: tuple[Block, ...]
    offsets: dict[str, int] = field(init=False)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        offsets, at = {}, 0
        for block in self.blocks:
            if block.name in offsets:
                raise ValueError(f"block {block.name!r} occurs twice")
            offsets[block.name] = at
            at += len(block.labels)
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "size", at)

    @property
    def names(self) -> list[str]:
        """A name for every feature, ``block=label``."""
        return [f"{block.name}={label}" for block in self.blocks for label in block.labels]

    def decode(self, features: Sequence[float] | np.ndarray) -> dict[str, list[str]]:
        """Labels of the features that are set, by block (shape ``(size,)``, values 0 or 1)."""
        if len(features) != self.size:
            raise ValueError(f"{len(features)} features given, the layout has {self.size}")
        found = {}
        for block in self.blocks:
            at = self.offsets[block.name]
            found[block.name] = [label for i, label in enumerate(block.labels) if features[at + i]]
        return found
