"""WordPiece as published BERT has it: text comes in, `Encoding`s go out, each piece with its place in the text.

The work is done in Rust by `tokenizers`; the result is Google's published rules (`characters.py` sees to the places
where the library differs): clean, put blanks around Chinese characters, lower-case and strip accents (uncased), split
at blanks and punctuation, then take the longest piece from the left. A special piece written in the text, such as
`[MASK]`, is recognised as that piece, as in every published BERT tokenizer.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

from unmask.errors import InputError
from unmask.files import write_text
from unmask.text.characters import Rewriting
from unmask.text.vocabulary import SPECIAL_PIECES, check_vocabulary, read_vocabulary, write_vocabulary

CHINESE = "\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f"
WIDE = CHINESE + "\u3000-\u30ff\uff00-\uffef“”‘’…—·"  # also kana, full-width forms, Chinese marks: no blanks beside
NO_BLANK = re.compile(
    rf"(?<=[{WIDE}]) | (?=[{WIDE}])"
    r"| (?=[,.;:!?)\]}%])|(?<=[(\[{]) "
    r"|(?<=\w) (?=' (?:s|t|d|m|re|ve|ll)\b)|(?<=\w ') (?=(?:s|t|d|m|re|ve|ll)\b)"  # don ' t
)


@dataclass(frozen=True)
class Encoding:
    """What a model reads of one text or pair, `[CLS]` and `[SEP]` included, and where each piece stands in the text."""

    ids: tuple[int, ...]
    segments: tuple[int, ...]  # 0 for the first text and its [CLS], [SEP]; 1 for the second and its [SEP]
    offsets: tuple[tuple[int, int], ...]  # from, to in the piece's own text; (0, 0) for [CLS] and [SEP]
    word_ids: tuple[int | None, ...]  # counted in each text, marks and Chinese characters too; None for [CLS], [SEP]
    pieces: tuple[str, ...]


class Tokenizer:
    """A vocabulary and its casing settings, ready to encode.

    >>> tokenizer = Tokenizer([*SPECIAL_PIECES, "un", "##aff", "##able", "!"])
    >>> encoding = tokenizer.encode("Unaffable!")
    >>> encoding.pieces
    ('[CLS]', 'un', '##aff', '##able', '!', '[SEP]')
    >>> encoding.offsets
    ((0, 0), (0, 2), (2, 5), (5, 9), (9, 10), (0, 0))
    >>> encoding.word_ids
    (None, 0, 0, 0, 1, None)
    """

    def __init__(
        self,
        pieces: Sequence[str],
        *,
        cased: bool = False,
        strip_accents: bool | None = None,
        split_chinese: bool = True,
        max_word_length: int = 100,
        added: Sequence[AddedToken] = (),
    ) -> None:
        check_vocabulary(pieces, "the vocabulary")
        self.pieces = tuple(pieces)
        self.cased = cased
        self.strip_accents = not cased if strip_accents is None else strip_accents
        self.split_chinese = split_chinese
        self.max_word_length = max_word_length
        self.added = tuple(added)  # pieces that are recognised wherever they are written, besides the special ones
        self.size = len(self.pieces)
        self.pad_id, self.unknown_id, self.cls_id, self.sep_id, self.mask_id = map(self.pieces.index, SPECIAL_PIECES)
        self.starts_word: NDArray[np.bool_] = np.array([not piece.startswith("##") for piece in pieces])  # (V,)
        self.special: NDArray[np.bool_] = np.array([piece in SPECIAL_PIECES for piece in pieces])  # (V,)
        self._rust = _rust_tokenizer(self)
        self._rewriting = Rewriting(cased=cased, strip_accents=self.strip_accents, split_chinese=split_chinese)

    @property
    def vocabulary_hash(self) -> str:
        """The SHA-256 of the pieces and of every setting that changes what a text becomes."""
        settings = [self.cased, self.strip_accents, self.split_chinese, self.max_word_length]
        facts = [settings, self.pieces, *([repr(token) for token in self.added])]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def encode(self, text: str, pair: str | None = None, *, max_length: int | None = None) -> Encoding:
        """One text, or two as `[CLS] text [SEP] pair [SEP]`; the longer of the two is cut from its end to fit.

        >>> Tokenizer([*SPECIAL_PIECES, "a", "b", "c"]).encode("a b c", "c b", max_length=6).pieces
        ('[CLS]', 'a', 'b', '[SEP]', 'c', '[SEP]')
        """
        return self.encode_batch([text if pair is None else (text, pair)], max_length=max_length)[0]

    def encode_batch(self, texts: Sequence[str | tuple[str, str]], *, max_length: int | None = None) -> list[Encoding]:
        """Many texts or pairs at once, on all cores; each is encoded as it would be alone."""
        if max_length is not None and max_length < 3:
            raise InputError(f"a length of {max_length} pieces", wanted="at least 3: [CLS], [SEP] and a piece between")
        rows = [tuple(text) if isinstance(text, (tuple, list)) else (text,) for text in texts]
        flat = [text for row in rows for text in row]
        encoded = iter(self._call(self._rust.encode_batch, flat))
        return [self._assemble([(text, next(encoded)) for text in row], max_length) for row in rows]

    def ids_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Only the ids, without `[CLS]` and `[SEP]`: the fastest door.

        >>> Tokenizer([*SPECIAL_PIECES, "a", "b"]).ids_batch(["a b", "", "b [MASK]"])
        [[5, 6], [], [6, 4]]
        """
        return [encoded.ids for encoded in self._call(self._rust.encode_batch_fast, texts)]

    def decode(self, ids: Iterable[int]) -> str:
        """Readable text: pieces joined to words, Chinese without blanks, `[CLS]`, `[SEP]` and `[PAD]` left out.

        >>> Tokenizer([*SPECIAL_PIECES, "un", "##able", "!", "中", "文"]).decode([2, 5, 6, 7, 8, 9, 4, 3])
        'unable!中文[MASK]'
        """
        silent = {self.pad_id, self.cls_id, self.sep_id}
        text = " ".join(self.pieces[id] for id in ids if id not in silent)
        return NO_BLANK.sub("", text.replace(" ##", "").removeprefix("##"))

    def save(self, folder: Path) -> None:
        """Writes `vocab.txt`, `tokenizer.json` and `tokenizer_config.json` as published BERT folders have them."""
        names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
        config = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": not self.cased,
            "strip_accents": self.strip_accents,
            "tokenize_chinese_chars": self.split_chinese,
            **dict(zip(names, SPECIAL_PIECES, strict=True)),
        }
        write_vocabulary(folder / "vocab.txt", self.pieces)
        write_text(folder / "tokenizer.json", self._rust.to_str(pretty=True))
        write_text(folder / "tokenizer_config.json", json.dumps(config, indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "Tokenizer":
        """The tokenizer of a model folder: `vocab.txt`, or `tokenizer.json` alone; the folder's casing is respected."""
        folder = Path(folder)
        config, library = _read_json(folder / "tokenizer_config.json"), _read_json(folder / "tokenizer.json")
        if (folder / "vocab.txt").is_file():
            ids = {piece: id for id, piece in enumerate(read_vocabulary(folder / "vocab.txt"))}
        elif library:
            ids = _library_ids(library, folder / "tokenizer.json")
        else:
            raise InputError(f"{folder} without a tokenizer", wanted="vocab.txt or tokenizer.json in it")
        tokens = library.get("added_tokens", [])
        pieces = _in_order({token["content"]: token["id"] for token in tokens} | ids, folder)
        return cls(pieces, **_settings(config, library, pieces), added=_added(tokens))

    def _call(self, encode_batch: Any, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        """Runs one of the library's batch doors on rewritten texts; it refuses what is not text with a TypeError."""
        try:
            rewritten = [self._rewriting.rewrite(text) for text in texts]
            encoded: list[tokenizers.Encoding] = encode_batch(rewritten, add_special_tokens=False)
        except (TypeError, AttributeError):
            raise _not_text(texts) from None
        return encoded

    def _assemble(self, parts: Sequence[tuple[str, tokenizers.Encoding]], max_length: int | None) -> Encoding:
        """Encoded texts as one sequence: cut to fit, with `[CLS]` before the first and `[SEP]` after each."""
        lengths = _fit([len(encoded) for _, encoded in parts], max_length)
        ids, segments, pieces = [self.cls_id], [0], ["[CLS]"]
        offsets: list[tuple[int, int]] = [(0, 0)]
        word_ids: list[int | None] = [None]
        for segment, ((text, encoded), length) in enumerate(zip(parts, lengths, strict=True)):
            ids += [*encoded.ids[:length], self.sep_id]
            segments += [segment] * (length + 1)
            offsets += [*self._original_offsets(text, encoded)[:length], (0, 0)]
            word_ids += [*encoded.word_ids[:length], None]
            pieces += [*encoded.tokens[:length], "[SEP]"]
        return Encoding(tuple(ids), tuple(segments), tuple(offsets), tuple(word_ids), tuple(pieces))

    def _original_offsets(self, text: str, encoded: tokenizers.Encoding) -> list[tuple[int, int]]:
        """Where the pieces stand in the text as it was before it was rewritten."""
        origins = self._rewriting.origins(text)
        if origins is None:
            return encoded.offsets
        return [(origins[start], origins[end - 1] + 1) for start, end in encoded.offsets]


def is_chinese(character: str) -> bool:
    """Whether the rules call a character Chinese; kana and hangul are not.

    >>> is_chinese("中"), is_chinese("カ")
    (True, False)
    """
    return bool(re.match(f"[{CHINESE}]", character))


def _rust_tokenizer(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """The library's tokenizer for a vocabulary and its settings, complete, so that others can use its file."""
    vocabulary = {piece: id for id, piece in enumerate(tokenizer.pieces)}
    rust = tokenizers.Tokenizer(
        models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=tokenizer.max_word_length)
    )
    rust.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=tokenizer.split_chinese,
        strip_accents=tokenizer.strip_accents,
        lowercase=not tokenizer.cased,
    )
    rust.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    rust.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", tokenizer.cls_id), ("[SEP]", tokenizer.sep_id)],
    )
    rust.decoder = decoders.WordPiece(prefix="##")
    rust.add_special_tokens(list(SPECIAL_PIECES))
    rust.add_tokens(list(tokenizer.added))
    return rust


def _fit(lengths: list[int], max_length: int | None) -> list[int]:
    """The lengths that one or two texts keep: the longer loses a piece until all fit, the second where they are equal.

    >>> _fit([5, 3], 9), _fit([4, 4], 10), _fit([7], 5)
    ([3, 3], [4, 3], [3])
    """
    if max_length is None:
        return lengths
    room = max_length - 1 - len(lengths)
    if len(lengths) == 1 or sum(lengths) <= room:
        return [min(length, room) for length in lengths]
    first, second = lengths
    first = min(first, max(room - second, room - room // 2))
    return [first, room - first]


def _settings(config: dict[str, Any], library: dict[str, Any], pieces: Sequence[str]) -> dict[str, Any]:
    """Casing settings from tokenizer_config.json, else from tokenizer.json, else from the vocabulary itself."""
    normalizer = next(_find(library.get("normalizer"), "BertNormalizer"), {})
    lower = config.get("do_lower_case", normalizer.get("lowercase"))
    if lower is None:  # a lower-casing tokenizer cannot have learned capitals
        lower = not any(re.search("[A-Z]", piece) for piece in pieces if not re.fullmatch(r"\[.*\]", piece))
    chinese = config.get("tokenize_chinese_chars", normalizer.get("handle_chinese_chars"))
    return {
        "cased": not lower,
        "strip_accents": config.get("strip_accents", normalizer.get("strip_accents")),
        "split_chinese": True if chinese is None else chinese,
        "max_word_length": library.get("model", {}).get("max_input_chars_per_word", 100),
    }


def _find(part: Any, kind: str) -> Iterator[dict[str, Any]]:
    """The parts of a given type in a tokenizer.json, looking into sequences."""
    if isinstance(part, dict):
        if part.get("type") == kind:
            yield part
        for inner in part.get("normalizers", []):
            yield from _find(inner, kind)


def _library_ids(library: dict[str, Any], path: Path) -> dict[str, int]:
    """The pieces of a tokenizer.json and their ids."""
    model = library.get("model", {})
    vocabulary = model.get("vocab")
    if model.get("type", "WordPiece") != "WordPiece" or not isinstance(vocabulary, dict):
        raise InputError(f"{path}: a {model.get('type')} tokenizer", wanted="WordPiece, as BERT has it")
    return vocabulary


def _in_order(ids: dict[str, int], folder: Path) -> list[str]:
    """Pieces in the order of their ids, of which none may be missing."""
    pieces = sorted(ids, key=ids.__getitem__)
    if [ids[piece] for piece in pieces] != list(range(len(pieces))):
        raise InputError(f"{folder}: pieces with gaps in their ids", wanted=f"0 to {len(pieces) - 1}, each once")
    return pieces


def _added(tokens: Iterable[dict[str, Any]]) -> list[AddedToken]:
    """The pieces that someone added to a tokenizer.json, with their rules, in the order of their ids."""
    rules = ("single_word", "lstrip", "rstrip", "normalized", "special")
    found = [token for token in tokens if token["content"] not in SPECIAL_PIECES]
    return [
        AddedToken(token["content"], **{rule: token[rule] for rule in rules})
        for token in sorted(found, key=lambda token: int(token["id"]))
    ]


def _read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file, empty if there is no such file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}", wanted="a JSON file", do="fetch or save the folder again") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: a JSON {type(found).__name__}", wanted="a JSON object")
    return found


def _not_text(texts: Sequence[str]) -> InputError:
    """What is wrong with texts that the library refused: a lone surrogate, or no text at all."""
    for text in texts:
        if not isinstance(text, str):
            return InputError(f"{type(text).__name__} {text!r}", wanted="text")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return InputError(
                f"half a character (a lone surrogate) at position {error.start} of {text[:40]!r}",
                wanted="text that can be written as UTF-8",
                do="decode the source with the right encoding",
            )
    raise AssertionError("the library refused proper text")
