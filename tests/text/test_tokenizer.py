"""The tokenizer against Google's rules in plain Python, its folder against transformers and sentence-transformers."""

import json
import pickle
import random
import sys
import unicodedata
from pathlib import Path
from typing import Any

import google_rules
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.errors import InputError
from unmask.text.characters import STAND_IN
from unmask.text.tokenizer import Tokenizer, _fit
from unmask.text.vocabulary import SPECIAL_PIECES, write_vocabulary

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEΣσςαßéø的中国文字𠀀𫠠カナ한ш́0123!'#$.,。！？“”👩😀"
WORDS = [
    "un",
    "##aff",
    "##able",
    "the",
    "cafe",
    "café",
    "cafe\u0301",
    "Berlin",
    "##ing",
    "οδος",
    "##ος",
    "##ας",
    "中国",
]
PIECES = list(dict.fromkeys([*SPECIAL_PIECES, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]))
SETTINGS = [
    {},
    {"cased": True},
    {"cased": True, "strip_accents": True},
    {"strip_accents": False},
    {"split_chinese": False},
]

NASTY = [
    "",
    " ",
    "\t\n\r",
    "unaffable",
    "UNAFFABLE the cafés!",
    "a\u00a0b\u3000c\u2003d\u2028e\u2029f\u1680g",  # no-break, ideographic, em blanks; line and paragraph ends; ogham
    "a\u200bb\u200cc\u200dd\u2060e\ufefff",  # zero-width characters and a byte order mark
    "a\x00b\x01c\x7fd\x85e\ufffdf\x1cg\x0bh\x0ci",  # NUL, controls, replacement character, vertical tab, form feed
    "👩\u200d👩\u200d👧\u200d👦 family 🏳️\u200d🌈 😀😀a",
    "cafe\u0301 café CAFÉ CAFE\u0301",
    "\u0301a\u0301\u0302\u0303 \u0301",  # marks without a letter
    "q\u0323\u0307 q\u0307\u0323 Ệ Ậ̆",
    "中国the中国",
    "𠀀𪜀𫝀𫠠𬺡\U0002b91f\U0002b920\U00030000㐀豈﨎你好",  # extension blocks A to F, compatibility ideographs
    "カタカナひらがな 한국어 ㄅㄆㄇ 〇",
    "שָׁלוֹם עולם مرحبا بالعالم \u202eabc\u202c",
    "a" * 100,
    "a" * 101,
    "é" * 100 + " " + "e\u0301" * 101,
    "中" * 300,
    "Straße STRASSE ẞ ß",
    "İstanbul ISTANBUL ıi İ",
    "ΟΔΟΣ ΑΣ Σ ΣΑ ΑΣ. ΑΣ-ΣΑ ΑΣ\u0301 ΑΣ\u0301Α ΑΣ\x00Α ΑΣ\u200bΑ ΑΣ中 Α1Σ1",
    "ΟΔΟΣ[MASK]Σ",
    "ǅ ǈ ŉ ﬁ ﬀ Ⅷ ⅷ Ａｂ ＡＢ１",
    "don't stop...now!? $5.00 ^_^ `x` a@b.c #tag ~|<=>+",
    "。！？“中文”《书》、，；：（）【】…—",
    "¿qué? ¡no! «x» ‹y› ‚z„ † ‡ ‰ § ¶",
    "[MASK] [mask] [MASK][SEP]the[CLS]a [ MASK ] [MASK",
    "the[UNK]the [PAD]x",
    "##ing ## # ##",
    "[unused1] <s> </s>",
    "mixed中a国1文。x한カ",
    "\ue000 a\ue000b \U000f0000 \U00100000",  # private use
    "\ufdd0a\uffffb \U0010ffffc",  # noncharacters
    "\u0378a \U000e0fff",  # unassigned
    "a\u0600b\u061cc\u06ddd\u070fe",  # format characters of the Arabic and Syriac blocks
    "\u0890a\u08e2b \U000110cdc \U00013430",  # younger format characters
    "a\u061db a\u2e4fb \U00011946",  # younger punctuation
    "a\u0898b a\u1ac1b \U0001e08f",  # younger marks
    "a\u166db a\u1734b a\U000111c9b",  # characters whose category changed
    "Ꭰꭰ ᲐᲑ ᏸ",  # Cherokee and Georgian, whose case is young
    "\u1e9e\u2126\u212a\u212b Ω K Å",
    "x\u0345\u0345 ᾳ ᾼ ῼ",
]


PLAIN = [
    "The café's naïve Straße, UNAFFABLE!",
    "中国的文字 and [MASK] mixed中a国。",
    "a\x00b\u200bc\ufffd\u3000d 👩\u200d👧 한국어 шéя",
    "a" * 101,
    "",
]  # texts on which the library alone follows the rules

same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != "14.0.0", reason="the rules are read with Unicode 14.0"
)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_nasty_strings_become_what_googles_rules_say(settings: dict[str, bool]) -> None:
    tokenizer, known = Tokenizer(PIECES, **settings), set(PIECES)
    for text in NASTY:
        assert tokenizer.encode(text).pieces[1:-1] == tuple(google_rules.pieces(text, known, **settings)), repr(text)


@pytest.mark.slow
@same_unicode
def test_100000_fuzzed_strings_become_what_googles_rules_say() -> None:
    chance, known = random.Random(7), set(PIECES)
    common = [*LETTERS, *"".join(NASTY), *"   ", *SPECIAL_PIECES, *WORDS]
    assigned = [chr(c) for c in range(sys.maxunicode) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    for settings in SETTINGS:
        texts = [
            "".join(chance.choices(common, k=chance.randrange(20)) + chance.choices(assigned, k=chance.randrange(2)))
            for _ in range(20_000)
        ]
        tokenizer = Tokenizer(PIECES, **settings)
        for text, ids in zip(texts, tokenizer.ids_batch(texts), strict=True):
            assert [PIECES[id] for id in ids] == google_rules.pieces(text, known, **settings), (settings, text)


@pytest.mark.slow
@same_unicode
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_character_of_unicode_is_split_as_googles_rules_say(settings: dict[str, bool]) -> None:
    tokenizer = Tokenizer(PIECES, **settings)
    unlike = str.maketrans(dict.fromkeys("\u166d\u1734\U000111c9", STAND_IN))
    characters = [chr(c) for c in range(sys.maxunicode) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    for character in characters:
        text = f"a{character}b {character}"
        normal = tokenizer._rust.normalizer.normalize_str(tokenizer._rewriting.rewrite(text))
        words = [word.translate(unlike) for word, _ in tokenizer._rust.pre_tokenizer.pre_tokenize_str(normal)]
        assert words == [word.translate(unlike) for word in google_rules.words(text, **settings)], hex(ord(character))


@given(
    st.text(st.sampled_from(LETTERS + " ΣİÅ\u0301\x00\u200b\u2e4f\ue000\u0898\U00011938")), st.sampled_from(SETTINGS)
)
def test_offsets_are_slices_of_the_original_in_order(text: str, settings: dict[str, bool]) -> None:
    encoding = Tokenizer(PIECES, **settings).encode(text)
    last = 0
    for piece, (start, end) in list(zip(encoding.pieces, encoding.offsets, strict=True))[1:-1]:
        assert last <= start < end <= len(text)
        normal = "".join(google_rules.words(text[start:end], **settings)).replace("ς", "σ")
        assert piece == "[UNK]" or piece.removeprefix("##").replace("ς", "σ") in normal
        last = start


@given(st.text(st.sampled_from(LETTERS + " Σ\u0301\x00\u2e4f")))
def test_a_word_id_counts_basic_words(text: str) -> None:
    words = google_rules.words(text)
    expected = [i for i, word in enumerate(words) for _ in google_rules.word_pieces(word, set(PIECES), 100)]
    assert Tokenizer(PIECES).encode(text).word_ids == (None, *expected, None)


def test_offsets_after_rewritten_characters_point_into_the_original() -> None:
    text = "the\u08e2 a\u2e4f the\U000110cd cafe\u0301"
    encoding = Tokenizer(PIECES).encode(text)
    assert [text[slice(*offset)] for offset in encoding.offsets[1:-1]] == ["the", "a", "\u2e4f", "the", "cafe"]


def test_a_pair_has_two_segments_and_offsets_into_each_text() -> None:
    encoding = Tokenizer(PIECES).encode("the cafe", "a b")
    assert encoding.pieces == ("[CLS]", "the", "cafe", "[SEP]", "a", "b", "[SEP]")
    assert encoding.segments == (0, 0, 0, 0, 1, 1, 1)
    assert encoding.offsets == ((0, 0), (0, 3), (4, 8), (0, 0), (0, 1), (2, 3), (0, 0))
    assert encoding.word_ids == (None, 0, 1, None, 0, 1, None)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=2), st.integers(3, 60))
def test_truncation_takes_a_piece_from_the_longer_until_all_fit(lengths: list[int], max_length: int) -> None:
    expected = list(lengths)
    while sum(expected) > max_length - 1 - len(expected):
        longer = 0 if len(expected) == 1 or expected[0] > expected[1] else 1
        expected[longer] -= 1
    assert _fit(lengths, max_length) == expected


def test_a_truncated_pair_keeps_its_beginnings() -> None:
    encoding = Tokenizer(PIECES).encode("a b c d", "the a b", max_length=8)
    assert encoding.pieces == ("[CLS]", "a", "b", "c", "[SEP]", "the", "a", "[SEP]")
    assert Tokenizer(PIECES).encode("a b c d", max_length=4).pieces == ("[CLS]", "a", "b", "[SEP]")


def test_a_batch_is_its_texts_one_by_one() -> None:
    tokenizer = Tokenizer(PIECES)
    rows = [*NASTY, *zip(NASTY, reversed(NASTY), strict=True)]
    alone = [tokenizer.encode(*([row] if isinstance(row, str) else row), max_length=20) for row in rows]
    assert tokenizer.encode_batch(rows, max_length=20) == alone


def test_the_fast_door_gives_the_ids_of_the_slow_one() -> None:
    tokenizer = Tokenizer(PIECES)
    assert tokenizer.ids_batch(NASTY) == [list(encoding.ids[1:-1]) for encoding in tokenizer.encode_batch(NASTY)]


def test_pieces_ids_and_word_starts_agree() -> None:
    tokenizer = Tokenizer(PIECES)
    assert [PIECES[id] for id in (tokenizer.pad_id, tokenizer.unknown_id)] == ["[PAD]", "[UNK]"]
    assert [PIECES[id] for id in (tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)] == [
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    assert tokenizer.starts_word.tolist() == [not piece.startswith("##") for piece in PIECES]


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("unaffable Caféing, the!", "unaffable cafeing, the!"),
        ("the中国的文字。the", "the中国的文字。the"),
        ("don't (a b)", "don't (a b)"),
        ("的[MASK]国", "的[MASK]国"),
    ],
)
def test_decoding_gives_readable_text(text: str, decoded: str) -> None:
    tokenizer = Tokenizer([*PIECES, "(", ")"])
    assert tokenizer.decode(tokenizer.encode(text).ids) == decoded


def test_the_hash_follows_pieces_and_settings() -> None:
    hashes = {Tokenizer(PIECES, **settings).vocabulary_hash for settings in SETTINGS}
    hashes |= {Tokenizer([*PIECES, "new"]).vocabulary_hash, Tokenizer(PIECES, max_word_length=7).vocabulary_hash}
    assert len(hashes) == len(SETTINGS) + 2
    assert Tokenizer(PIECES).vocabulary_hash == Tokenizer(tuple(PIECES), strip_accents=True).vocabulary_hash


def test_a_tokenizer_travels_to_another_process() -> None:
    tokenizer = Tokenizer(PIECES, cased=True)
    assert pickle.loads(pickle.dumps(tokenizer)).encode_batch(NASTY) == tokenizer.encode_batch(NASTY)


@pytest.mark.parametrize("settings", [*SETTINGS, {"max_word_length": 5}], ids=str)
@pytest.mark.parametrize("file", ["vocab.txt", "tokenizer.json", "tokenizer_config.json"])
def test_what_was_saved_loads_the_same_also_with_a_file_missing(
    settings: dict[str, Any], file: str, tmp_path: Path
) -> None:
    tokenizer = Tokenizer(PIECES, **settings)
    tokenizer.save(tmp_path)
    if not (file == "tokenizer.json" and "max_word_length" in settings):  # only tokenizer.json has a place for it
        (tmp_path / file).unlink()
    loaded = Tokenizer.load(tmp_path)
    assert loaded.vocabulary_hash == tokenizer.vocabulary_hash
    assert loaded.encode_batch(NASTY) == tokenizer.encode_batch(NASTY)


@pytest.mark.parametrize(("pieces", "cased"), [(["the", "##re"], False), (["The", "##re"], True)])
def test_a_bare_vocabulary_is_cased_if_it_has_capitals(pieces: list[str], cased: bool, tmp_path: Path) -> None:
    write_vocabulary(tmp_path / "vocab.txt", [*SPECIAL_PIECES, "[unused1]", *pieces])
    assert Tokenizer.load(tmp_path).cased is cased


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_transformers_opens_our_folder_and_we_open_theirs(settings: dict[str, bool], tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = Tokenizer(PIECES, **settings)
    tokenizer.save(tmp_path / "ours")
    (tmp_path / "ours" / "config.json").write_text(json.dumps({"model_type": "bert"}))
    theirs = AutoTokenizer.from_pretrained(tmp_path / "ours")
    theirs.save_pretrained(tmp_path / "theirs")
    again = Tokenizer.load(tmp_path / "theirs")
    for text in PLAIN:
        encoding, other = tokenizer.encode(text, "the pair"), theirs(text, "the pair", return_offsets_mapping=True)
        assert list(encoding.ids) == other["input_ids"]
        assert list(encoding.segments) == other["token_type_ids"]
        assert list(encoding.offsets) == other["offset_mapping"]
        assert again.encode(text, "the pair") == encoding


@pytest.mark.slow
def test_pieces_that_someone_added_are_recognised_as_transformers_does(tmp_path: Path) -> None:
    from transformers import BertTokenizer

    theirs = BertTokenizer({piece: id for id, piece in enumerate(PIECES)})
    theirs.add_tokens(["newword", "New Thing"])
    theirs.add_tokens(["[ENT]"], special_tokens=True)
    theirs.save_pretrained(tmp_path / "theirs")
    ours = Tokenizer.load(tmp_path / "theirs")
    ours.save(tmp_path / "ours")
    text = "the NEWWORD new thing[ENT] [ent] anewworda"
    assert list(ours.encode(text).ids) == theirs(text)["input_ids"]
    assert Tokenizer.load(tmp_path / "ours").encode(text) == ours.encode(text)
    assert pickle.loads(pickle.dumps(ours)).vocabulary_hash == Tokenizer.load(tmp_path / "ours").vocabulary_hash


@pytest.mark.slow
def test_sentence_transformers_opens_our_folder(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    BertModel(BertConfig(vocab_size=len(PIECES), **sizes)).save_pretrained(tmp_path)
    tokenizer = Tokenizer(PIECES)
    tokenizer.save(tmp_path)
    theirs = SentenceTransformer(str(tmp_path))
    for text in PLAIN:
        assert theirs.tokenize([text])["input_ids"].tolist() == [list(tokenizer.encode(text).ids)]


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({}, "without a tokenizer"),
        ({"vocab.txt": "a\nb\n"}, r"\[PAD\]"),
        ({"vocab.txt": "\n".join([*SPECIAL_PIECES, "a", "a"])}, "'a' on line 7"),
        ({"tokenizer.json": "{"}, "tokenizer.json"),
        ({"tokenizer.json": "[]"}, "wanted a JSON object"),
        ({"tokenizer.json": '{"model": {"type": "BPE", "vocab": {}}}'}, "BPE"),
        ({"tokenizer.json": '{"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 2}}}'}, "gaps"),
        ({"tokenizer.json": '{"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 1}}}'}, r"\[PAD\]"),
    ],
)
def test_a_folder_at_fault_is_refused_with_the_reason(files: dict[str, str], complaint: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=complaint):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(("text", "complaint"), [("a\ud800b", "position 1"), (None, "NoneType"), (3, "int 3")])
def test_what_is_not_text_is_refused(text: Any, complaint: str) -> None:
    tokenizer = Tokenizer(PIECES)
    for call in (lambda: tokenizer.encode(text), lambda: tokenizer.ids_batch(["fine", text])):
        with pytest.raises(InputError, match=complaint):
            call()


def test_a_length_without_room_for_a_piece_is_refused() -> None:
    with pytest.raises(InputError, match="at least 3"):
        Tokenizer(PIECES).encode("a", max_length=2)
