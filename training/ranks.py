"""The processes that learn together, as ``torchrun`` starts them, and the sums that they share.

Each rank plays tables of its own and computes the gradient of its part; what is learnt from is the sum over all ranks,
so that they hold the same weights at every step. Without ``torchrun`` there is one rank, which shares with nobody.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist

BACKENDS = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
"""What carries sums between ranks, by where the tensors are."""


class LostRankError(RuntimeError):
    """Another rank has ended before its work was done, in one line."""


class Ranks:
    """One process alone; the base of those that are several."""

    rank = 0
    size = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and shows progress: rank 0 alone does."""
        return self.rank == 0

    def add(self, tensors: Sequence[torch.Tensor]) -> None:
        """Replace tensors, in place, by their sums over all ranks; shapes and types are the same on each."""

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any rank."""
        return flag

    def agree(self, number: int) -> bool:
        """Whether the number (0..2**50) is the same on all ranks."""
        total = torch.tensor([number], dtype=torch.float64)
        self.add([total])
        return not self.any(float(total) != self.size * number)

    def gather(self, thing: Any) -> list[Any]:
        """What every rank gives, in their order; an empty list on ranks but the first."""
        return [thing]

    def close(self) -> None:
        """Leave the others."""


class ProcessGroup(Ranks):
    """Ranks of torch.distributed: its gloo backend adds what lies in memory, nccl what lies on GPUs."""

    def __init__(self) -> None:
        with _all_there():
            # A store of its own for each start: addresses of ranks that are gone would be found in a common one.
            store, rank, size = next(dist.rendezvous("env://"))  # type: ignore[attr-defined]
            store = dist.PrefixStore(f"start-{restarts()}", store)  # type: ignore[attr-defined]
            dist.init_process_group(BACKENDS, store=store, rank=rank, world_size=size)
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def add(self, tensors: Sequence[torch.Tensor]) -> None:
        """See `Ranks`."""
        # One message for all: each has a cost of its own, however short.
        joined = torch.cat([tensor.detach().flatten() for tensor in tensors])
        with _all_there():
            dist.all_reduce(joined)
        for tensor, part in zip(tensors, torch.split(joined, [tensor.numel() for tensor in tensors]), strict=True):
            tensor.detach().copy_(part.view_as(tensor))

    def any(self, flag: bool) -> bool:
        """See `Ranks`."""
        count = torch.tensor([float(flag)])
        self.add([count])
        return bool(count > 0)

    def gather(self, thing: Any) -> list[Any]:
        """See `Ranks`."""
        found: list[Any] | None = [None] * self.size if self.is_first else None
        with _all_there():
            dist.gather_object(thing, found)
        return found or []

    def close(self) -> None:
        """See `Ranks`."""
        dist.destroy_process_group()


@contextmanager
def _all_there() -> Iterator[None]:
    """Say in one line that a rank is gone: the backend's errors differ by where it was lost."""
    try:
        yield
    except RuntimeError as error:
        raise LostRankError(f"another process of the run is gone ({str(error).splitlines()[0]})") from None


def join_ranks() -> Ranks:
    """The ranks that ``torchrun`` started this process among, or this process alone."""
    return ProcessGroup() if int(os.environ.get("WORLD_SIZE", "1")) > 1 else Ranks()


def restarts() -> int:
    """How often ``torchrun`` has started the ranks again after one of them was lost."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
