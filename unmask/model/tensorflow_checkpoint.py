"""TensorFlow's checkpoint files (tensor bundle, version 2) without TensorFlow: a prefix in, named arrays out, and back.

`PREFIX.index` is a sorted table from each tensor's name to its type, shape and place; the bytes themselves stand end to
end in `PREFIX.data-00000-of-0000N`. Reading maps those files and verifies each tensor's checksum when it is read.
"""

import struct
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from unmask.errors import InputError
from unmask.files import atomic_path
from unmask.model.crc32c import crc32c, masked
from unmask.model.protobuf import Malformed, Value, read_fields, write_field, write_fixed32
from unmask.model.sstable import read_table, write_table

Array = NDArray[Any]

BFLOAT16 = np.dtype([("bfloat16", "<u2")])  # numpy has no such number: the bits, which reading widens to float32
TYPES: dict[int, np.dtype[Any]] = {  # the numbers are TensorFlow's (types.proto)
    1: np.dtype("<f4"),
    2: np.dtype("<f8"),
    3: np.dtype("<i4"),
    9: np.dtype("<i8"),
    14: BFLOAT16,
    19: np.dtype("<f2"),
}
TYPE_NUMBERS: dict[np.dtype[Any], int] = {dtype: number for number, dtype in TYPES.items()}


@dataclass(frozen=True)
class Entry:
    """Where one tensor's bytes are, and what they mean."""

    type_number: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int
    sliced: bool = False


@dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint: the entries are known, the arrays are read one by one."""

    prefix: Path
    shards: int
    entries: Mapping[str, Entry]

    def read(self, name: str) -> Array:
        """One tensor, mapped from its file where the type allows; its checksum is verified."""
        entry = self.entries[name]
        dtype = TYPES.get(entry.type_number)
        if dtype is None or entry.sliced:
            kind = "stored in slices" if entry.sliced else f"of TensorFlow's type {entry.type_number}"
            raise InputError(f"tensor '{name}' {kind} in {self.prefix}", wanted="a whole tensor of numbers")
        stored = self._bytes(name, entry)
        if len(stored) != dtype.itemsize * int(np.prod(entry.shape)):
            raise damaged(self.prefix, f"tensor '{name}' has {len(stored)} bytes for shape {list(entry.shape)}")
        if masked(crc32c(stored.data)) != entry.checksum:
            raise damaged(self.prefix, f"tensor '{name}' does not fit its checksum")
        array: Array = stored.view(dtype).reshape(entry.shape)
        return (array["bfloat16"].astype("<u4") << 16).view("<f4") if dtype == BFLOAT16 else array

    def _bytes(self, name: str, entry: Entry) -> NDArray[np.uint8]:
        path = shard_path(self.prefix, entry.shard, self.shards)
        length = path.stat().st_size if path.is_file() else 0
        if entry.offset + entry.size > length:
            what = f"{path.name} ends before tensor '{name}'" if path.is_file() else f"{path.name} is missing"
            raise damaged(self.prefix, what)
        if entry.size == 0:
            return np.zeros(0, np.uint8)
        return np.memmap(path, np.uint8, mode="r", offset=entry.offset, shape=(entry.size,))


def open_checkpoint(prefix: Path) -> Checkpoint:
    """Reads the index of the checkpoint with this prefix, for instance `bert_model.ckpt`.

    >>> import tempfile
    >>> prefix = Path(tempfile.mkdtemp()) / "model.ckpt"
    >>> write_checkpoint(prefix, {"global_step": np.array(7), "bias": np.zeros((2, 3), np.float32)})
    >>> checkpoint = open_checkpoint(prefix)
    >>> {name: entry.shape for name, entry in checkpoint.entries.items()}
    {'bias': (2, 3), 'global_step': ()}
    >>> int(checkpoint.read("global_step"))
    7
    """
    index = index_path(prefix)
    if not index.is_file():
        raise InputError(
            f"{prefix}, which has no {index.name}",
            wanted="the prefix of a TensorFlow checkpoint: bert_model.ckpt for bert_model.ckpt.index",
        )
    try:
        pairs = dict(read_table(index.read_bytes()))
        shards = _read_header(pairs.pop(b""))
        whole = {name: value for name, value in pairs.items() if not name.startswith(b"\0")}  # others: parts of slices
        entries = {name.decode(): _read_entry(value) for name, value in whole.items()}
    except (OSError, Malformed, KeyError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise damaged(prefix, f"{index.name}: {error}") from error
    return Checkpoint(prefix, shards, entries)


def write_checkpoint(prefix: Path, tensors: Mapping[str, Array], *, shards: int = 1) -> None:
    """Writes a checkpoint that TensorFlow reads; the index comes last, so that an unfinished one is never opened."""
    names = sorted(tensors, key=str.encode)
    entries: dict[str, bytes] = {}
    with ExitStack() as stack:
        paths = [stack.enter_context(atomic_path(shard_path(prefix, shard, shards))) for shard in range(shards)]
        files = [stack.enter_context(path.open("wb")) for path in paths]
        for place, name in enumerate(names):
            shard = place * shards // len(names)
            entries[name] = _write_tensor(files[shard], shard, name, tensors[name])
    pairs = [(b"", _write_header(shards)), *((name.encode(), entries[name]) for name in names)]
    with atomic_path(index_path(prefix)) as temporary:
        temporary.write_bytes(write_table(pairs))


def index_path(prefix: Path) -> Path:
    """
    >>> index_path(Path("bert_model.ckpt")).name
    'bert_model.ckpt.index'
    """
    return prefix.with_name(f"{prefix.name}.index")


def shard_path(prefix: Path, shard: int, shards: int) -> Path:
    """
    >>> shard_path(Path("bert_model.ckpt"), 0, 2).name
    'bert_model.ckpt.data-00000-of-00002'
    """
    return prefix.with_name(f"{prefix.name}.data-{shard:05d}-of-{shards:05d}")


def damaged(prefix: Path, what: str) -> InputError:
    """The error for a checkpoint that is not as TensorFlow wrote it."""
    return InputError(f"a damaged checkpoint {prefix} ({what})", do="copy it again from its source")


def _write_tensor(file: BinaryIO, shard: int, name: str, tensor: Array) -> bytes:
    array = np.ascontiguousarray(tensor).reshape(tensor.shape)  # ascontiguousarray makes a scalar a vector
    if array.dtype not in TYPE_NUMBERS:
        raise InputError(f"tensor '{name}' of type {array.dtype}", wanted=", ".join(map(str, TYPE_NUMBERS)))
    offset, stored = file.tell(), array.reshape(-1).view(np.uint8)
    file.write(stored.data)
    entry = Entry(TYPE_NUMBERS[array.dtype], array.shape, shard, offset, len(stored), masked(crc32c(stored.data)))
    return _write_entry(entry)


def _read_header(message: bytes) -> int:
    """BundleHeaderProto: 1 the number of shards, 2 the byte order (1 is big)."""
    fields = dict(read_fields(message))
    if fields.get(2, 0) != 0:
        raise Malformed("numbers stored with the highest byte first")
    return _number(fields.get(1, 1))


def _write_header(shards: int) -> bytes:
    return write_field(1, shards) + write_field(3, write_field(1, 1))  # 3: VersionDef, whose 1 is the producer


def _read_entry(message: bytes) -> Entry:
    """BundleEntryProto: 1 type, 2 shape, 3 shard, 4 offset, 5 size, 6 checksum, 7 slices."""
    fields = dict(read_fields(message))
    shape = _read_shape(_bytes(fields.get(2, b"")))
    kind, shard, offset, size, checksum = (_number(fields.get(number, 0)) for number in (1, 3, 4, 5, 6))
    return Entry(kind, shape, shard, offset, size, checksum, sliced=7 in fields)


def _write_entry(entry: Entry) -> bytes:
    place = ((3, entry.shard), (4, entry.offset), (5, entry.size))
    head = write_field(1, entry.type_number) + write_field(2, _write_shape(entry.shape))
    return head + b"".join(write_field(*field) for field in place if field[1]) + write_fixed32(6, entry.checksum)


def _read_shape(message: bytes) -> tuple[int, ...]:
    """TensorShapeProto: 2, once for each dimension, whose 1 is its size."""
    dimensions = [_bytes(value) for number, value in read_fields(message) if number == 2]
    return tuple(_number(dict(read_fields(dimension)).get(1, 0)) for dimension in dimensions)


def _write_shape(shape: tuple[int, ...]) -> bytes:
    return b"".join(write_field(2, write_field(1, size) if size else b"") for size in shape)


def _number(value: Value) -> int:
    if isinstance(value, int):
        return value
    raise Malformed("bytes in place of a number")


def _bytes(value: Value) -> bytes:
    if isinstance(value, bytes):
        return value
    raise Malformed("a number in place of bytes")
