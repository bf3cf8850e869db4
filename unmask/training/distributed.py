"""Many processes as one: torchrun's workers sum their figures, and average gradients (DDP) or divide weights (FSDP2).

In: torchrun's environment, and a learner. Out: `Processes`, through which a run speaks to the others, and the learner
as the engine trains it. One process alone is the same with nobody to speak to.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from unmask.errors import InputError
from unmask.model.layers import Layer

Said = TypeVar("Said")
PATIENCE = timedelta(days=7)  # while the first process prepares the text; torchrun ends the wait if that one dies


@dataclass(frozen=True)
class Processes:
    """This process among those that train together."""

    rank: int = 0  # of this process; the first, 0, prints and writes
    world: int = 1  # how many there are
    local_rank: int = 0  # of this process on its machine: the number of its GPU
    patient: Any = field(default=None, repr=False, compare=False)  # the group that waits for the first one's work

    def gather(self, figures: dict[str, float]) -> dict[str, float]:
        """Figures summed over all processes.

        >>> Processes().gather({"tokens": 3.0})
        {'tokens': 3.0}
        """
        if self.world == 1:
            return dict(figures)
        sums = torch.tensor(list(figures.values()), dtype=torch.float64)
        dist.all_reduce(sums)
        return dict(zip(figures, sums.tolist(), strict=True))

    def agree(self, value: Said) -> Said:
        """What the first process says: decisions that hang on a clock or a file are its own."""
        return value if self.world == 1 else _tell(value)

    @contextmanager
    def first_alone(self) -> Iterator[None]:
        """Lets the first process through; the others follow when it is done, and find its work done."""
        if self.world > 1 and self.rank > 0 and not _tell(False, self.patient):
            raise SystemExit(2)  # the first one says why
        done = False
        try:
            yield
            done = True
        finally:
            if self.world > 1 and self.rank == 0:
                _tell(done, self.patient)


ALONE = Processes()


@contextmanager
def joined(environment: Mapping[str, str], device: str = "cpu") -> Iterator[Processes]:
    """Joins the processes that torchrun started, and leaves them at the end; without torchrun this one is alone.

    >>> with joined({}) as processes:
    ...     processes
    Processes(rank=0, world=1, local_rank=0)
    """
    rank, world, local = (int(environment.get(name, default)) for name, default in TORCHRUN.items())
    if world == 1:
        yield Processes()
        return
    if device == "cuda":
        torch.cuda.set_device(local)
    store, _, _ = next(dist.rendezvous("env://"))  # type: ignore[attr-defined]
    if environment.get("GROUP_WORLD_SIZE") == "1":
        # on one machine torchrun keeps its store when it starts workers again: they must not find there the addresses
        # of those that died. (Machines count their restarts each for itself, so between them this is no common name.)
        store = dist.PrefixStore(environment["TORCHELASTIC_RESTART_COUNT"], store)  # type: ignore[attr-defined]
    backend = "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=world)
    try:
        yield Processes(rank, world, local, dist.new_group(backend="gloo", timeout=PATIENCE))
    except InputError:
        if rank == 0:
            raise
        raise SystemExit(2) from None  # all have met it; the first one says so
    finally:
        dist.destroy_process_group()


TORCHRUN = {"RANK": 0, "WORLD_SIZE": 1, "LOCAL_RANK": 0}  # what torchrun sets for each process, and what holds without


def wrap(learner: nn.Module, processes: Processes, *, shard: bool = False) -> nn.Module:
    """The learner as an engine trains it: whole in every process, or sharded, each layer divided among them."""
    if processes.world == 1:
        return learner
    if not shard:
        return DistributedDataParallel(learner)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(next(learner.parameters()).device.type, (processes.world,))
    for layer in [module for module in learner.modules() if isinstance(module, Layer)]:
        fully_shard(layer, mesh=mesh)
    fully_shard(learner, mesh=mesh)
    return learner


def whole(tensor: Tensor) -> Tensor:
    """A tensor with the parts of it that other processes hold; every process must ask for it."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def divided(tensor: Tensor, like: Tensor) -> Tensor:
    """This process's part of a tensor that all of them have, where `like` is divided."""
    if not hasattr(like, "full_tensor"):
        return tensor.to(like.device)
    from torch.distributed.tensor import DTensor, distribute_tensor  # takes a second to load

    assert isinstance(like, DTensor)
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def _tell(value: Said, group: Any = None) -> Said:
    """The first process's value, in every process."""
    said = [value]
    dist.broadcast_object_list(said, src=0, group=group, device=torch.device("cpu"))
    return said[0]
