"""Passages: nothing is lost, nothing is too long, sentences stay whole, neighbours overlap within a paragraph."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from unmask.apps.passages import HAN, LONGEST, OVERLAP, passage_spans, sentence_around
from unmask.text.sentences import sentence_spans

alphabet = st.sampled_from(["a", "B", " ", "  ", "\n", "\n\n", ". ", "。", "雪山", "word", "\r\n", "\u3000", "x" * 300])
texts = st.lists(alphabet, max_size=400).map("".join)


def size(text: str) -> int:
    return len(text) + 2 * len(HAN.findall(text))


@given(texts)
def test_passages_hold_all_that_is_not_space_in_order(text: str) -> None:
    spans = passage_spans(text)
    seen = {place for start, stop in spans for place in range(start, stop)}
    assert all(place in seen or character.isspace() for place, character in enumerate(text))
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(spans))


@given(texts)
def test_no_passage_is_too_long_or_has_blank_ends(text: str) -> None:
    for start, stop in passage_spans(text):
        assert 0 < size(text[start:stop]) <= LONGEST
        assert not text[start].isspace()


@given(texts)
def test_neighbours_share_no_more_than_the_overlap(text: str) -> None:
    for (_, stop), (start, _) in pairwise(passage_spans(text)):
        assert size(text[start:stop]) <= OVERLAP


def test_a_long_paragraph_is_cut_between_sentences_and_repeats_the_last_one() -> None:
    text = " ".join(f"Sentence number {number} tells of a lamp that somebody lit." for number in range(60))
    spans = passage_spans(text)
    ends = {stop for _, stop in sentence_spans(text)}
    starts = {start for start, _ in sentence_spans(text)}
    assert len(spans) > 3
    assert all(start in starts and stop in ends for start, stop in spans)
    assert all(later[0] < earlier[1] for earlier, later in pairwise(spans))


def test_paragraphs_of_some_length_are_passages_of_their_own_and_a_heading_goes_with_its_text() -> None:
    paragraph = "The keeper climbed the stairs and lit the lamp. " * 12
    text = f"# One\n\n{paragraph}\n\n# Two\n\n{paragraph}"
    first, second = passage_spans(text)
    assert (text[slice(*first)][:5], text[slice(*second)][:5]) == ("# One", "# Two")


def test_chinese_passages_are_shorter() -> None:
    spans = passage_spans("老人看着大海，天上没有云。" * 100)
    assert max(stop - start for start, stop in spans) <= LONGEST // 2


def test_a_megabyte_without_a_stop_or_of_blanks_takes_no_time() -> None:
    assert len(passage_spans("ab" * 100_000)) > 200
    assert passage_spans(" " * 1_000_000 + "\n" * 100_000) == []


def test_the_sentence_of_an_answer_is_the_one_it_stands_in_or_all_that_it_touches() -> None:
    text = "天黑了。老人点灯。\nDr. Wu slept. Ann sang, then left."
    assert sentence_around(text, text.index("老人"), text.index("老人") + 2) == "老人点灯。"
    assert sentence_around(text, text.index("Wu"), text.index("Wu") + 2) == "Dr. Wu slept."
    assert sentence_around(text, text.index("slept"), text.index("Ann") + 3) == "Dr. Wu slept. Ann sang, then left."
    assert sentence_around("  ", 0, 1) == " "


def test_the_sentence_of_an_answer_deep_in_a_long_text_is_found() -> None:
    text = "It rained all day. " * 20_000 + "The old keeper lit the lamp. " + "It rained all day. " * 20_000
    place = text.index("keeper")
    assert sentence_around(text, place, place + 6) == "The old keeper lit the lamp."
