"""TensorFlow's checkpoints without TensorFlow: against its own files, and against TensorFlow itself where it is."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unmask.errors import InputError
from unmask.model import sstable
from unmask.model.crc32c import LANES, crc32c, masked
from unmask.model.protobuf import Malformed, read_fields, read_varint, write_field, write_varint
from unmask.model.snappy import decompress
from unmask.model.sstable import BLOCK_SIZE, read_table, write_table
from unmask.model.tensorflow_checkpoint import (
    BFLOAT16,
    index_path,
    open_checkpoint,
    shard_path,
    write_checkpoint,
)


def obvious_crc32c(message: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in message:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ 0x82F63B78 * (state & 1)
    return state ^ 0xFFFFFFFF


def every_type() -> dict[str, NDArray[Any]]:
    numbers = np.random.default_rng(3)
    return {
        "bert/word_embeddings": numbers.standard_normal((300, 32)).astype(np.float32),
        "bert/word_embeddings/adam_m": numbers.standard_normal((300, 32)).astype(np.float32),
        "half": numbers.standard_normal((5, 7)).astype(np.float16),
        "double": numbers.standard_normal(9),
        "counts": np.arange(6, dtype=np.int32).reshape(2, 3),
        "global_step": np.array(12_345),
        "empty": np.zeros((0, 3), np.float32),
    }


def test_the_checksum_knows_its_published_values() -> None:
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


@given(st.binary(max_size=300))
def test_the_checksum_equals_the_obvious_one(message: bytes) -> None:
    assert crc32c(message) == obvious_crc32c(message)


@pytest.mark.parametrize("length", [4 * LANES - 1, 4 * LANES, 4 * LANES + 1, 8 * LANES + 3])
def test_the_checksum_is_right_around_a_row_of_lanes(length: int) -> None:
    message = np.random.default_rng(length).bytes(length)
    assert crc32c(message) == obvious_crc32c(message)


@given(st.integers(0, 2**64 - 1))
def test_a_varint_comes_back(number: int) -> None:
    written = write_varint(number)
    assert read_varint(written, 0) == (number, len(written))


def test_a_message_cut_short_is_malformed() -> None:
    with pytest.raises(Malformed):
        list(read_fields(write_field(2, b"a word")[:-1]))


@settings(max_examples=50)
@given(st.dictionaries(st.binary(max_size=20), st.binary(max_size=40), max_size=80))
def test_a_table_comes_back(pairs: dict[bytes, bytes]) -> None:
    assert list(read_table(write_table(sorted(pairs.items())))) == sorted(pairs.items())


def test_a_table_of_several_blocks_comes_back() -> None:
    pairs = [(f"layer_{number:05d}".encode(), bytes(1000)) for number in range(2 * BLOCK_SIZE // 1000)]
    assert list(read_table(write_table(pairs))) == pairs


def test_any_changed_byte_of_a_block_is_noticed() -> None:
    table = write_table([(b"bias", b"value"), (b"weight", b"value")])
    for place in range(20):
        changed = bytearray(table)
        changed[place] ^= 1
        with pytest.raises(Malformed):
            list(read_table(bytes(changed)))


def test_a_table_with_compressed_blocks_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    write_entries = sstable._write_entries

    def compressed(pairs: list[tuple[bytes, bytes]]) -> bytes:
        block = write_entries(pairs)
        return write_varint(len(block)) + bytes([61 << 2]) + (len(block) - 1).to_bytes(2, "little") + block

    with monkeypatch.context() as patch:
        patch.setattr(sstable, "_write_entries", compressed)
        patch.setattr(sstable, "UNCOMPRESSED", sstable.SNAPPY)
        table = write_table([(b"bias", b"1"), (b"weight", b"2")])
    assert list(read_table(table)) == [(b"bias", b"1"), (b"weight", b"2")]


def test_snappy_literals_of_any_size_and_far_copies_are_decompressed() -> None:
    literal = bytes(range(256)) * 2
    block = write_varint(len(literal) + 20) + bytes([61 << 2]) + (511).to_bytes(2, "little") + literal
    block += bytes([9 << 2 | 2]) + (512).to_bytes(2, "little") + bytes([9 << 2 | 3]) + (522).to_bytes(4, "little")
    assert decompress(block) == literal + literal[:10] * 2


def test_a_snappy_copy_from_before_the_beginning_is_malformed() -> None:
    with pytest.raises(Malformed):
        decompress(bytes([4, 0x01, 9]))


@pytest.mark.parametrize("shards", [1, 3])
def test_every_type_comes_back_from_any_number_of_shards(tmp_path: Path, shards: int) -> None:
    tensors = every_type()
    write_checkpoint(tmp_path / "model.ckpt", tensors, shards=shards)
    checkpoint = open_checkpoint(tmp_path / "model.ckpt")
    assert checkpoint.shards == shards
    assert set(checkpoint.entries) == set(tensors)
    for name, tensor in tensors.items():
        assert checkpoint.read(name).dtype == tensor.dtype
        np.testing.assert_array_equal(checkpoint.read(name), tensor)


def test_bfloat16_is_read_as_float32(tmp_path: Path) -> None:
    bits = np.array([0x3F80, 0xC000, 0x3E80], "<u2")
    write_checkpoint(tmp_path / "model.ckpt", {"words": bits.view(BFLOAT16)})
    np.testing.assert_array_equal(open_checkpoint(tmp_path / "model.ckpt").read("words"), np.float32([1, -2, 0.25]))


def test_a_transposed_array_is_written_as_it_reads(tmp_path: Path) -> None:
    kernel = np.arange(6, dtype=np.float32).reshape(2, 3).T
    write_checkpoint(tmp_path / "model.ckpt", {"kernel": kernel})
    np.testing.assert_array_equal(open_checkpoint(tmp_path / "model.ckpt").read("kernel"), kernel)


def test_a_changed_byte_of_a_tensor_is_an_error_that_names_it(tmp_path: Path) -> None:
    prefix = tmp_path / "model.ckpt"
    write_checkpoint(prefix, {"words": np.ones((4, 4), np.float32)})
    stored = bytearray(shard_path(prefix, 0, 1).read_bytes())
    stored[10] ^= 1
    shard_path(prefix, 0, 1).write_bytes(stored)
    with pytest.raises(InputError, match="'words' does not fit its checksum"):
        open_checkpoint(prefix).read("words")


def test_a_truncated_or_missing_shard_is_an_error(tmp_path: Path) -> None:
    prefix = tmp_path / "model.ckpt"
    write_checkpoint(prefix, {"words": np.ones((4, 4), np.float32)})
    shard = shard_path(prefix, 0, 1)
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(InputError, match="ends before tensor 'words'"):
        open_checkpoint(prefix).read("words")
    shard.unlink()
    with pytest.raises(InputError, match="00000-of-00001 is missing"):
        open_checkpoint(prefix).read("words")


@pytest.mark.parametrize("kept", [0, 10, 60])
def test_a_truncated_index_is_an_error(tmp_path: Path, kept: int) -> None:
    prefix = tmp_path / "model.ckpt"
    write_checkpoint(prefix, {"words": np.ones(4, np.float32)})
    index_path(prefix).write_bytes(index_path(prefix).read_bytes()[:kept])
    with pytest.raises(InputError, match="damaged checkpoint"):
        open_checkpoint(prefix)


def test_a_prefix_without_an_index_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no bert_model.ckpt.index"):
        open_checkpoint(tmp_path / "bert_model.ckpt")


def test_a_type_that_the_format_lacks_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="complex64"):
        write_checkpoint(tmp_path / "model.ckpt", {"words": np.ones(4, np.complex64)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.shared
def test_what_tensorflow_wrote_is_read_and_written_back_byte_for_byte(shared_data: Path, tmp_path: Path) -> None:
    theirs, ours = shared_data / "tf1_checkpoint" / "bert_model.ckpt", tmp_path / "bert_model.ckpt"
    checkpoint = open_checkpoint(theirs)
    write_checkpoint(ours, {name: checkpoint.read(name) for name in checkpoint.entries})
    assert index_path(ours).read_bytes() == index_path(theirs).read_bytes()
    assert shard_path(ours, 0, 1).read_bytes() == shard_path(theirs, 0, 1).read_bytes()


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="tensorflow is not installed")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shards", [1, 4])
def test_tensorflow_reads_what_we_write(tmp_path: Path, shards: int) -> None:
    import tensorflow

    tensors = every_type()
    write_checkpoint(tmp_path / "model.ckpt", tensors, shards=shards)
    reader = tensorflow.train.load_checkpoint(str(tmp_path / "model.ckpt"))
    assert {name for name, _ in tensorflow.train.list_variables(str(tmp_path / "model.ckpt"))} == set(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(reader.get_tensor(name), tensor)


def test_a_stored_checksum_is_masked() -> None:
    assert masked(crc32c(b"")) == 0xA282EAD8
