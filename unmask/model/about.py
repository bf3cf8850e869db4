"""What a model is for: `unmask.json`, and the same read out of a published folder that has none.

A folder and the shapes of its tensors come in, `About` goes out; and back, the published files that say the same.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from unmask.errors import InputError

FORMAT = 1  # raised when a reader of an older version would misread the file


@dataclass(frozen=True)
class About:
    """What a model folder is for and how it came to be; saved as `unmask.json`.

    >>> About(head="classes", labels=("bad", "good")).labels
    ('bad', 'good')
    """

    head: str | None = None  # a name of HEADS; none for a bare encoder
    task: str = ""  # the task or preset it was trained for
    labels: tuple[str, ...] = ()  # of classes or tags, in the order of the outputs
    multi_label: bool = False  # any number of the classes may be true
    pooling: str = "mean"  # how an embedding is made of its tokens
    normalise: bool = False  # embeddings have length one
    loss: str = ""  # what embeddings were learned by: regression or contrastive
    max_length: int | None = None  # pieces that a text is cut to, if fewer than the positions
    features: Mapping[str, str] = field(default_factory=dict)  # layers and reader, where a frozen encoder is read
    long_text: str = "head"  # what is read of a longer text: head, tail, head+tail or windows
    scheme: str = ""  # how tags mark where spans begin and end, IOB1, IOB2 or BIOES; if empty, labels tell
    context: bool = False  # a sentence is read among its neighbours in the document
    whole_words: bool = True  # a tagger's words keep the marks within them (U.S.); else every mark is a word
    stride: int | None = None  # pieces between the beginnings of windows that an answer is looked for in
    longest_answer: int | None = None  # pieces
    marked: bool = False  # pieces of a context that the question has too are of a third segment
    thresholds: Mapping[str, float] = field(default_factory=dict)  # by label or purpose
    scores: Mapping[str, Any] = field(default_factory=dict)  # measured on held-out data
    provenance: Mapping[str, Any] = field(default_factory=dict)  # data hashes, settings, versions
    base: Mapping[str, str] = field(default_factory=dict)  # the model that lends what the folder does not store

    def to_json(self) -> str:
        """The text of `unmask.json`."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any], source: str) -> "About":
        """Reads what `to_json` wrote.

        >>> About.from_fields(json.loads(About(head="tokens", labels=("O", "B-PER")).to_json()), "here").labels
        ('O', 'B-PER')
        """
        stored = dict(stored)
        if stored.pop("format", None) != FORMAT:
            raise InputError(f"{source} of another format", wanted=f"format {FORMAT}", do="update unmask")
        unknown = stored.keys() - {known.name for known in fields(cls)}
        if unknown:
            raise InputError(f"{source} with unknown fields {sorted(unknown)}", do="remove them or update unmask")
        about = cls(**stored | {"labels": tuple(stored.get("labels") or ())})
        if about.head not in ARCHITECTURES or about.pooling not in POOLING_FIELDS:
            raise InputError(f"{source} with head {about.head!r}, pooling {about.pooling!r}", do="update unmask")
        if about.base and not {"model", "sha256"} <= {*about.base}:
            raise InputError(f"{source} with the base {about.base!r}", wanted="its model and sha256")
        return about


def read_about(folder: Path, published: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> About:
    """What the folder says of itself in `unmask.json`; without it, what its configuration and tensors say."""
    own = folder / "unmask.json"
    if own.is_file():
        return About.from_fields(read_object(own), str(own))
    head = head_of(published, shapes)
    if head is None and (folder / "modules.json").is_file():
        return _read_sentence_modules(folder)
    labelled = head in ("classes", "tokens", "tags_crf")
    return About(
        head=head,
        labels=_labels(published, shapes["classifier.bias"][0]) if labelled else (),
        multi_label=published.get("problem_type") == "multi_label_classification",
    )


def head_of(published: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    """The head that the stored tensors make up; the architecture only says what a classifier classifies.

    >>> head_of({}, {"cls.predictions.bias": (300,)})
    'masked_words'
    >>> head_of({"architectures": ["BertForTokenClassification"]}, {"classifier.bias": (9,)})
    'tokens'
    """
    words, following = "cls.predictions.bias" in shapes, "cls.seq_relationship.bias" in shapes
    if words or following:
        pooled = "bert.pooler.dense.bias" in shapes
        return "pretraining" if words and following and pooled else "masked_words" if words else "next_sentence"
    if "qa_outputs.bias" in shapes:
        return "span"
    if "classifier.bias" not in shapes:
        return None
    architecture = (published.get("architectures") or [""])[0]
    if architecture in ("BertForTokenClassification", "BertForMultipleChoice"):
        tagger = "tags_crf" if "crf.transitions" in shapes else "tokens"
        return tagger if architecture == "BertForTokenClassification" else "choice"
    one_output = shapes["classifier.bias"] == (1,)
    if published.get("problem_type") == "regression" and not one_output:
        raise InputError(f"a regression of shape {list(shapes['classifier.bias'])}", wanted="one value")
    return "regression" if one_output else "classes"


def published_fields(about: About, outputs: int) -> dict[str, Any]:
    """What `config.json` says beside the encoder's shape."""
    architecture = ARCHITECTURES[None if about.features else about.head]
    said: dict[str, Any] = {"architectures": [architecture], "model_type": "bert", "dtype": "float32"}
    if about.head in ("classes", "regression", "tokens", "tags_crf"):
        labels = about.labels or tuple(f"LABEL_{number}" for number in range(outputs))
        assert len(labels) == outputs, f"{len(labels)} labels for {outputs} outputs"
        said["id2label"] = {str(number): label for number, label in enumerate(labels)}
        said["label2id"] = {label: number for number, label in enumerate(labels)}
    if about.head in ("classes", "regression"):
        kind = "multi" if about.multi_label else "single"
        said["problem_type"] = "regression" if about.head == "regression" else f"{kind}_label_classification"
    return said


def sentence_modules(about: About, width: int, positions: int) -> dict[str, str]:
    """The further files by which sentence-transformers opens an embedding folder: name and text."""
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")][: 3 if about.normalise else 2]
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(kinds)
    ]
    pooling = {f"pooling_mode_{name}": name == POOLING_FIELDS[about.pooling] for name in POOLING_FIELDS.values()}
    length = {"max_seq_length": about.max_length or positions, "do_lower_case": False}
    contents: dict[str, Any] = {
        "modules.json": modules,
        "1_Pooling/config.json": {"word_embedding_dimension": width, **pooling},
        "sentence_bert_config.json": length,
    }
    return {name: json.dumps(content, indent=2) + "\n" for name, content in contents.items()}


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}, which is no JSON file ({error})", do="copy it again from its source") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} with a JSON {type(found).__name__}", wanted="an object")
    return found


def _labels(published: Mapping[str, Any], outputs: int) -> tuple[str, ...]:
    stored = published.get("id2label") or {}
    try:
        labels = tuple(str(stored[number]) for number in sorted(stored, key=int))
    except (TypeError, ValueError) as error:
        raise InputError(f"id2label {stored}", wanted="a label for each number") from error
    if labels and len(labels) != outputs:
        raise InputError(f"{len(labels)} labels (id2label) for {outputs} outputs", wanted="one for each output")
    return labels or tuple(f"LABEL_{number}" for number in range(outputs))


def transformer_path(folder: Path) -> str:
    """The folder within a sentence-transformers folder that the encoder is in; today it is the folder itself."""
    modules = _read_modules(folder / "modules.json") if (folder / "modules.json").is_file() else [("", "")]
    return modules[0][0]


def _read_modules(path: Path) -> list[tuple[str, str]]:
    """Path and kind of each module; a path is the name of a folder within, never one elsewhere."""
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
        return [(Path(module["path"]).name, module["type"].rsplit(".", 1)[-1]) for module in modules]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}, which is damaged", wanted="a list of modules with path and type") from error


def _read_sentence_modules(folder: Path) -> About:
    """The pooling of a sentence-transformers folder; a module that changes vectors in another way is refused."""
    modules = _read_modules(folder / "modules.json")
    kinds = [kind for _, kind in modules]
    if kinds[1:] not in (["Pooling"], ["Pooling", "Normalize"]):
        raise InputError(f"{folder / 'modules.json'} with {kinds}", wanted="Transformer, Pooling and perhaps Normalize")
    pooling = read_object(folder / modules[1][0] / "config.json")
    chosen = [name for name, published in POOLING_FIELDS.items() if pooling.get(f"pooling_mode_{published}")]
    mode = pooling.get("pooling_mode") or (chosen[0] if len(chosen) == 1 else None)
    if mode not in POOLING_FIELDS:
        raise InputError(f"{folder} with pooling {mode or chosen}", wanted=f"one of {', '.join(POOLING_FIELDS)}")
    settings = folder / modules[0][0] / "sentence_bert_config.json"
    length = read_object(settings).get("max_seq_length") if settings.is_file() else None
    return About(head="embedding", pooling=mode, normalise="Normalize" in kinds, max_length=length)


ARCHITECTURES = {
    None: "BertModel",
    "embedding": "BertModel",
    "pretraining": "BertForPreTraining",
    "masked_words": "BertForMaskedLM",
    "next_sentence": "BertForNextSentencePrediction",
    "classes": "BertForSequenceClassification",
    "regression": "BertForSequenceClassification",
    "tokens": "BertForTokenClassification",
    "tags_crf": "BertForTokenClassification",
    "span": "BertForQuestionAnswering",
    "choice": "BertForMultipleChoice",
}
POOLING_FIELDS = {"mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens"}
