"""The model card: what is known of a model, as the `README.md` that people read first in a folder."""

from collections.abc import Iterator, Mapping
from typing import Any

from unmask.model.about import About
from unmask.model.config import BertConfig

TAGS = "tags:\n- bert\n- unmask\n"
TASK_TAGS = {
    "pretraining": "fill-mask",
    "masked_words": "fill-mask",
    "classes": "text-classification",
    "regression": "text-classification",
    "tokens": "token-classification",
    "tags_crf": "token-classification",
    "span": "question-answering",
    "choice": "multiple-choice",
    "embedding": "sentence-similarity",
}
PURPOSES = {
    None: "a bare encoder",
    "pretraining": "an encoder with both pretraining heads: masked words and next sentence",
    "masked_words": "an encoder with the masked-word head",
    "next_sentence": "an encoder with the next-sentence head",
    "classes": "a classifier of texts",
    "regression": "a model that gives a text a value",
    "tokens": "a tagger of words",
    "tags_crf": "a tagger of words with a conditional random field",
    "span": "a model that finds answers in a text",
    "choice": "a model that chooses between continuations",
    "embedding": "a model that makes one vector of a text",
}


def write_card(title: str, config: BertConfig, about: About, parameters: int, *, in_int8: bool = False) -> str:
    r"""The text of the card, with whatever is known.

    >>> card = write_card("pets", BertConfig.named("tiny"), About("classes", labels=("cat", "dog")), 4_386_178)
    >>> print("\n".join(card.splitlines()[8:13]))
    # pets
    <BLANKLINE>
    A BERT, a classifier of texts.
    <BLANKLINE>
    - 4,386,178 parameters: 2 layers, width 128, 2 heads, 512 positions, 30,522 pieces
    """
    shape = f"{config.layers} layers, width {config.width}, {config.heads} heads, {config.positions} positions"
    facts = [
        f"{parameters:,} parameters: {shape}, {config.vocabulary_size:,} pieces",
        f"task: {about.task}" if about.task else "",
        f"labels: {', '.join(about.labels)}" if about.labels else "",
        f"pooling: {about.pooling}{', normalised' if about.normalise else ''}" if about.head == "embedding" else "",
        "features of a frozen encoder: {layers}, read by {reader}".format(**about.features) if about.features else "",
    ]
    opened = "the encoder in it, without its head," if about.features else "it"
    parts = [
        _front_matter(about),
        f"# {title}\n\nA BERT, {PURPOSES[about.head]}.\n",
        "".join(f"- {fact}\n" for fact in facts if fact),
        _section("Scores", about.scores),
        _section("Where it comes from", about.provenance),
        f'## Use\n\n```python\nimport unmask\n\nmodel = unmask.load("{title}")\n```\n\n'
        + _layout(title, opened, about, in_int8),
    ]
    return "\n".join(part for part in parts if part)


def _layout(title: str, opened: str, about: About, in_int8: bool) -> str:
    whole = f"`unmask convert {title} -o whole` writes all of it in the published layout.\n"
    if not about.base and in_int8:
        return f"The folder's matrices are stored in int8, each row by a scale of its own. {whole}"
    if not about.base:
        return f"The folder has the published layout: transformers opens {opened} as any other BERT.\n"
    return f"The folder holds what differs from its base, {about.base['model']}, and needs it to be opened. {whole}"


def is_card(text: str) -> bool:
    """Whether a README.md is a card written here, which may be written anew; a person's own is kept.

    >>> is_card(write_card("pets", BertConfig.named("tiny"), About(), 7)), is_card("# My notes")
    (True, False)
    """
    return text.startswith("---\nlibrary_name") and TAGS in text


def _front_matter(about: About) -> str:
    library = "sentence-transformers" if about.head == "embedding" else "transformers"
    tag = f"pipeline_tag: {TASK_TAGS[about.head]}\n" if about.head in TASK_TAGS else ""
    return f"---\nlibrary_name: {library}\n{tag}{TAGS}---\n"


def _section(title: str, entries: Mapping[str, Any]) -> str:
    if not entries:
        return ""
    rows = "".join(f"| {name} | {value} |\n" for name, value in _lines(entries))
    return f"## {title}\n\n| | |\n|---|---|\n{rows}"


def _lines(entries: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, str]]:
    """Names and values as a table has them: numbers rounded, what is within another on lines of its own.

    >>> list(_lines({"f1": 2 / 3, "settings": {"learning_rate": 5e-05, "shape": "linear"}}))
    [('f1', '0.6667'), ('settings: learning rate', '5e-05'), ('settings: shape', 'linear')]
    """
    for name, value in entries.items():
        known = f"{under}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield from _lines(value, f"{known}: ")
        elif value not in ("", None):
            # five digits behind the point would only be noise in a score, but a learning rate has its first there
            told = round(value, 4) if isinstance(value, float) and abs(value) >= 0.001 else value
            yield known, str(told).replace("|", "\\|").replace("\n", " ")
