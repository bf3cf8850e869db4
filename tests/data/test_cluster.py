"""Shards on a Ray cluster: the same bytes as here, from two machines; what is wrong is said."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from stories import TOKENIZER, files_of, write_stories

from unmask.data.cluster import TOKENIZER_FILES, check_address, everywhere, keep, prepare_apart
from unmask.data.prepare import prepare
from unmask.data.shards import ShardPlan, ShardPreparer, plan_shards
from unmask.errors import InputError
from unmask.text.formats import TextRange


@pytest.fixture
def tokenizer_files(tmp_path: Path) -> dict[str, bytes]:
    TOKENIZER.save(tmp_path / "tokenizer")
    return {name: (tmp_path / "tokenizer" / name).read_bytes() for name in TOKENIZER_FILES}


def test_a_shard_prepared_apart_and_kept_is_the_shard_prepared_here(
    tmp_path: Path, tokenizer_files: dict[str, bytes]
) -> None:
    [plan] = plan_shards(write_stories(tmp_path / "texts"), shard_bytes=1 << 20)
    for name in ("here", "kept"):
        (tmp_path / name).mkdir()
    record = ShardPreparer(tmp_path / "here", TOKENIZER).prepare(plan)
    answer = prepare_apart(plan, tokenizer_files, "auto")
    assert isinstance(answer, tuple)
    assert keep(tmp_path / "kept", *answer) == record
    assert files_of(tmp_path / "kept") == files_of(tmp_path / "here")


def test_text_that_a_machine_does_not_see_is_named(tmp_path: Path, tokenizer_files: dict[str, bytes]) -> None:
    plan = ShardPlan(0, (TextRange(tmp_path / "gone.txt"),))
    answer = prepare_apart(plan, tokenizer_files, "auto")
    assert isinstance(answer, dict)
    assert "gone.txt on " in answer["got"]
    assert "every machine" in answer["wanted"]


def test_a_relative_path_is_made_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert everywhere(ShardPlan(3, (TextRange(Path("a.txt")),))).parts[0].path == tmp_path / "a.txt"


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'unmask\[ray\]'"):
        prepare(write_stories(tmp_path / "texts"), tmp_path / "store", TOKENIZER, ray="auto")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense", "ray://127.0.0.1:1"])
def test_an_address_where_nobody_answers_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=f"--ray {address}: .*; wanted auto, or where a Ray cluster answers"):
        check_address(address)


# A cluster, really started

CLUSTER = """
import sys
from ray.cluster_utils import Cluster
node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=node)
cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of two nodes of one core, in a process of their own; they end when nobody listens any more."""
    pytest.importorskip("ray")
    command = [sys.executable, "-W", "ignore", "-c", CLUSTER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, text=True) as process:  # type: ignore[call-overload]
        yield process.stdout.readline().strip()
        process.stdin.close()


def prepare_there(cluster: str, texts: list[Path], folder: Path, *flags: str) -> "subprocess.CompletedProcess[str]":
    TOKENIZER.save(folder.parent / "tokenizer")
    command = [sys.executable, "-m", "unmask", "prepare", *map(str, texts), "-o", str(folder)]
    command += ["--vocab", str(folder.parent / "tokenizer"), "--ray", cluster, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_a_cluster_makes_the_same_bytes(cluster: str, tmp_path: Path) -> None:
    texts = write_stories(tmp_path / "texts", documents=24_000)
    done = prepare_there(cluster, texts, tmp_path / "there", "--shard-size", "1")
    assert done.returncode == 0, done.stderr
    prepare(texts, tmp_path / "here", TOKENIZER, shard_bytes=1 << 20, threads=1)
    assert len(list((tmp_path / "here").glob("*.ids"))) > 2
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")


@pytest.mark.slow
def test_bad_text_on_a_cluster_is_one_line(cluster: str, tmp_path: Path) -> None:
    texts = write_stories(tmp_path / "texts")
    texts[1].write_text("{broken", encoding="utf-8")
    done = prepare_there(cluster, texts, tmp_path / "there")
    assert done.returncode == 2
    assert "b.jsonl line 1" in done.stderr
    assert "Traceback" not in done.stderr
