"""Sentence ends in English and Chinese: known cases, and properties of any text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.text.sentences import sentence_spans, split_sentences

# Each line is a text whose sentences are apart by " | ".
ENGLISH = """
He came. | She left.
Mr. Hill met Dr. Wu at 5 p.m. on Jan. 3. | They spoke.
She works for Acme Inc. in Ohio. | It pays well.
We fly to the U.S. | The visit is short.
The U.S. Army bought it.
J. R. R. Oldman wrote it with Anna B. Reed. | Nobody read it.
Take e.g. the fox, i.e. the red one. | Or see Fig. 3, No. 7 and p. 12.
He said no. | They all laughed.
It costs $3.50 today. | Tomorrow it is 4.25.
Well... perhaps not.
Wait... | What was that?
He waited . . . and waited.
“Stop!” | “Why?” | Nobody answered.
"Stop!" he cried. | "We are lost."
(It was late.) | We slept.
Did he win?! | Yes!!
Write to a.b@mail.example.org now. | Or open http://example.org/a.html?x=1. | Done.
1. Boil the water. | 2. Add the tea.
It runs on Python 3.11. | Older ones fail.
She met Reed et al. in 2010. | He saw version v. 2 there.
It was plan B. | It failed.
"""

CHINESE = """
天亮了。 | 我们走吧！ | 你去吗？
“下雨了。” | 她说。
他问：“你去吗？” | 没人回答。
“好！”，她笑了。
等一下…… | 那是什么？
他有3.5元；她有2元。 | 够了。
我读了《你好！明天》这本书。 | 很好。
他（真的！）来了。 | 我们很高兴。
（第一章。） | 天亮了。
真的吗?! | 真的!
好! | 我来。 | 走吧
他说：「走吧。」 | 我们走了。
他说"走吧。" | 我们走了。
见http://example.org/?页。 | 完。
"""


@pytest.mark.parametrize("line", ENGLISH.strip().splitlines())
def test_english_sentences_end_where_a_reader_ends_them(line: str) -> None:
    sentences = line.split(" | ")
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize("line", CHINESE.strip().splitlines())
def test_chinese_sentences_end_without_a_space(line: str) -> None:
    sentences = line.split(" | ")
    assert split_sentences("".join(sentences)) == sentences


def test_both_languages_in_one_line() -> None:
    assert split_sentences("OK. 好的。Next one! 再见！") == ["OK.", "好的。", "Next one!", "再见！"]


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
def test_nothing_has_no_sentences(text: str) -> None:
    assert split_sentences(text) == []


alphabet = st.sampled_from([*"aB3 .!?…。！？；,\"'“”‘’()（）《》「」:/-\n\u3000我他", "Mr", "e.g", "U.S", "http://"])


@given(st.one_of(st.text(), st.lists(alphabet).map("".join)))
def test_spans_are_in_order_and_cover_all_that_is_not_space(text: str) -> None:
    spans = sentence_spans(text)
    assert "".join("".join(text[start:stop] for start, stop in spans).split()) == "".join(text.split())
    borders = [border for span in spans for border in span]
    assert borders == sorted(borders)
    assert all(text[start:stop] == text[start:stop].strip() != "" for start, stop in spans)


@pytest.mark.parametrize("unit", [".", "。", "。》", ".)", "a. ", "《。", "... ", "'!", "1. ", "?你"])
def test_a_megabyte_of_stops_takes_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        started = time.process_time()
        sentence_spans(unit * (length // len(unit)))
        return time.process_time() - started

    seconds(1000)
    assert seconds(200_000) < 30 * seconds(20_000) + 0.2
