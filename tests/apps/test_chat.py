"""A chat says what fits, nothing twice, nothing that it does not know, and what others know better."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from chats import Knows, small_encoder, talks
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.apps.builtin_chat import builtin_chat
from unmask.apps.chat import Chat, ReplyScores, Utterance
from unmask.apps.not_knowing import AGAIN, STRANGERS, WORDS, not_knowing, saying_again, says_nothing
from unmask.apps.refusing import Refused
from unmask.apps.reply_scores import PoolNumbers, learn_weights
from unmask.apps.response_base import Possible, ResponseBase
from unmask.apps.turns import Said, context_text, language_of
from unmask.apps.vectors import TextVectors
from unmask.data.dialogues import Dialogue, Exchange, exchanges
from unmask.decode.words import Floats
from unmask.errors import InputError

CHINESE = [Exchange(("你好吗？",), "我很好。")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> ResponseBase:
    vectors = TextVectors(small_encoder(tmp_path_factory.mktemp("base") / "encoder", head=None))
    said = [exchange for talk in talks() for exchange in exchanges(Dialogue(tuple(talk)))]
    return ResponseBase.of([*said, *CHINESE], vectors)


@pytest.fixture(scope="module")
def chat(base: ResponseBase) -> Chat:
    return Chat(base, None, 0.6)


def test_a_known_situation_has_its_reply(chat: Chat) -> None:
    reply = chat("Do you like soup?")
    assert (reply.answer, reply.source) == ("yes, soup is good.", "dialogue")
    assert reply.score == reply.candidates[0].score >= chat.threshold


def test_what_was_said_before_decides_where_the_last_turn_says_little(base: ResponseBase) -> None:
    told = [
        Exchange(("tea or cake?", "yes!"), "here is your cake."),
        Exchange(("to the harbour?", "yes!"), "let us go."),
    ]
    small = Chat(ResponseBase.of(told, base.vectors), None, 0.0)
    assert small.reply(["tea or cake?"], "yes!").answer == "here is your cake."
    assert small.reply(["to the harbour?"], "yes!").answer == "let us go."


def test_a_stranger_gets_no_answer_but_candidates(chat: Chat) -> None:
    reply = chat("what is the melting point of tungsten?")
    assert (reply.answer, reply.source) == (None, None)
    assert reply.score < chat.threshold
    assert reply.to_dict().keys() == {"answer", "score", "source", "candidates"}


def test_nothing_is_said_twice_however_long_the_conversation(chat: Chat) -> None:
    history: list[str] = []
    for _ in range(40):
        reply = chat.reply(history, "do you like tea?")
        if reply.answer is not None:
            assert reply.answer not in Said(history)
            history += ["do you like tea?", reply.answer]
    assert len(set(history[1::2])) == len(history[1::2])


def test_what_the_user_just_said_is_not_given_back(chat: Chat) -> None:
    assert all("honey is good" not in one.answer for one in chat("Yes, HONEY is good").candidates)


def test_a_reply_has_the_language_of_what_was_said(chat: Chat) -> None:
    assert chat("你好吗？").answer == "我很好。"
    assert all(language_of(one.answer) == "en" for one in chat("do you like fish?").candidates)
    assert not_knowing("暗物质？") in WORDS["zh"]
    assert not_knowing("Dark matter?") in WORDS["en"]


def test_not_knowing_has_other_words_each_time() -> None:
    history: list[str] = []
    for _ in WORDS["en"]:
        history.append(not_knowing("And this?", history))
    assert sorted(history) == sorted(WORDS["en"])


@pytest.mark.parametrize(("language", "said"), [("en", "And this?"), ("zh", "那这个呢？")])
def test_saying_again_has_other_words_each_time_in_either_language(language: str, said: str) -> None:
    history: list[str] = []
    for _ in AGAIN[language]:
        history.append(saying_again(said, history))
    assert sorted(history) == sorted(AGAIN[language])
    assert all(says_nothing(turn) for turn in history)


def test_others_are_asked_where_the_dialogues_are_not_sure_and_the_better_one_speaks(base: ResponseBase) -> None:
    faq, documents = Knows("We open at nine.", 0.9), Knows("in 1987", 0.6)
    chat = Chat(base, None, 0.6, faqs=[faq], documents=[documents])
    assert chat("do you like tea?").source == "dialogue"
    assert (faq.asked, documents.asked) == (0, 0)
    assert (chat("when do you open?").answer, chat("when do you open?").source) == ("We open at nine.", "faq")
    assert documents.asked == 0
    faq.answer = None
    assert (chat("when was it built?").answer, chat("when was it built?").source) == ("in 1987", "documents")
    documents.answer = None
    assert chat("when was it built?").answer is None


def test_what_others_know_is_not_said_twice_either(base: ResponseBase) -> None:
    chat = Chat(base, None, 0.6, faqs=[Knows("We open at nine.")])
    reply = chat.reply(["when do you open?", "we open at nine!"], "when do you open?")
    assert (reply.answer, reply.source, reply.again) == (None, None, "We open at nine.")
    assert reply.to_dict()["again"] == "We open at nine."


def test_all_of_a_kind_are_asked_and_the_surest_speaks(base: ResponseBase) -> None:
    faqs, documents = [Knows("At nine.", 0.8), Knows("At ten.", 0.9)], [Knows("in 1987", 0.9), Knows("in 1988", 0.95)]
    chat = Chat(base, None, 0.6, faqs=faqs, documents=documents)
    assert chat("when do you open?").answer == "At ten."
    assert ([one.asked for one in faqs], [one.asked for one in documents]) == ([1, 1], [0, 0])
    for faq in faqs:
        faq.answer = None
    assert chat("when was it built?").answer == "in 1988"


def test_who_is_surest_is_counted_from_each_ones_own_threshold(base: ResponseBase) -> None:
    high, low = Knows("At nine.", 0.85), Knows("At ten.", 0.7)
    high.threshold, low.threshold = 0.8, 0.1  # 0.25 and 0.67 of the way beyond
    assert Chat(base, None, 0.6, faqs=[high, low])("when do you open?").answer == "At ten."


@pytest.mark.parametrize("asked", ["who lit the lamp?", "and the lamp, who lit that?"])
def test_where_the_best_has_spoken_a_worse_source_is_silent(base: ResponseBase, asked: str) -> None:
    chat = Chat(base, None, 0.6, faqs=[Knows("Dogs are welcome.", 0.1)], documents=[Knows("Anna Berg", 0.9)])
    assert chat("who lit the lamp?").answer == "Anna Berg"
    reply = chat.reply(["who lit the lamp?", "Anna Berg"], asked)
    assert (reply.answer, reply.again, reply.candidates) == (None, "Anna Berg", ())


def test_a_better_source_speaks_though_a_worse_one_has_spoken_before(base: ResponseBase) -> None:
    chat = Chat(base, None, 0.6, faqs=[Knows("Dogs are welcome.", 0.1)], documents=[Knows("Anna Berg", 0.9)])
    assert chat.reply(["may he come in?", "Dogs are welcome."], "who lit the lamp?").answer == "Anna Berg"


def test_the_dialogues_may_have_another_reply_but_nobody_else_instead(base: ResponseBase) -> None:
    more = Exchange(("do you like soup?",), "only in winter.")
    chat = Chat(
        ResponseBase.of([*base.exchanges, more], base.vectors), None, 0.6, faqs=[Knows("Dogs are welcome.", 0.1)]
    )
    history: list[str] = []
    while (reply := chat.reply(history, "do you like soup?")).answer is not None:
        assert reply.source == "dialogue"
        history += ["do you like soup?", reply.answer]
    assert {"yes, soup is good.", "only in winter."} <= {*history}
    assert reply.again in history
    assert chat.reply(history, "who feeds the cat?").answer == "Dogs are welcome."


def test_a_turn_that_others_cannot_read_is_no_fault_of_the_chat(base: ResponseBase) -> None:
    def refuses(question: str) -> Knows:
        raise InputError(f"{question!r}, which is no question")

    assert Chat(base, None, 0.6, faqs=[refuses])("?!").answer is None


def test_a_weak_answer_of_others_does_not_push_aside_a_good_reply(base: ResponseBase) -> None:
    chat = Chat(base, None, 0.3, faqs=[Knows("Nonsense.", 0.05)])
    assert chat("do you like bread with it?").source == "dialogue"


class OneFits(ReplyScores):
    """Scores by which one reply fits and no other does."""

    def __init__(self, response: str, probability: float) -> None:
        self.response, self.probability = response, probability

    def __call__(self, turns: Sequence[str], possible: Sequence[Possible]) -> Floats:
        assert turns
        return np.array([self.probability if one.response == self.response else 0.0 for one in possible])


def test_either_is_reason_enough_a_reply_that_fits_or_a_situation_that_is_known(base: ResponseBase) -> None:
    chat = Chat(base, OneFits("the castle!", 0.9), 0.6)
    assert chat("we went to the castle.").score > 0.99
    found = {one.answer: one for one in chat("the old castle").candidates}
    assert found["the castle!"].fit == 0.9
    assert found["the castle!"].score == pytest.approx(1 - 0.1 * (1 - (found["the castle!"].known or 0.0)))


@pytest.mark.parametrize("said", ["", "   ", "a\0b", "\ud800"])
def test_what_cannot_be_read_is_refused(chat: Chat, said: str) -> None:
    with pytest.raises(InputError):
        chat(said)
    good, bad = chat.many([Utterance("do you like rice?"), Utterance(said)])
    assert isinstance(bad, Refused)
    assert not isinstance(good, Refused)


def test_many_replies_are_those_of_single_calls(chat: Chat) -> None:
    asked = [Utterance("do you like rice?"), Utterance("we went to the castle.", ("do you like tea?", "no."))]
    assert chat.many(asked) == [chat.reply(one.history, one.said) for one in asked]


def test_a_very_long_history_is_cut_from_its_oldest_turn_on(chat: Chat) -> None:
    history = [f"turn {number}" for number in range(500)]
    assert chat.reply(history, "do you like cake?").candidates
    assert context_text([*history, "last"]).endswith("turn 499 [SEP] last")
    assert "turn 10 " not in context_text(history)


def test_weights_find_the_number_that_tells_and_never_count_against() -> None:
    draw = np.random.default_rng(0)
    cosine = [np.concatenate([[0.9], draw.uniform(0, 0.5, 9)]).astype(np.float32) for _ in range(40)]
    noise = [draw.normal(size=10).astype(np.float32) for _ in range(40)]
    against = [-row for row in cosine]
    weights = learn_weights(PoolNumbers(cosine, against, noise))
    assert weights.cosine > 0
    assert weights.reading == 0
    assert min(weights.words, weights.reading) >= 0
    real = weights.probability(cosine[0], against[0], noise[0])
    assert real[0] > 0.5 > real[1:].max()


def test_a_base_that_was_saved_finds_the_same(base: ResponseBase, tmp_path: Path) -> None:
    base.save(tmp_path)
    again = ResponseBase.load(tmp_path, base.vectors)
    for turns in (["do you like soup?"], ["do you like soup?", "yes, soup is good.", "we went to the market."]):
        assert again.possible(turns, 5) == base.possible(turns, 5)


def test_a_base_that_grew_finds_what_one_made_at_once_finds(base: ResponseBase) -> None:
    half = len(base.exchanges) // 2
    grown = ResponseBase.of(base.exchanges[:half], base.vectors).with_more(base.exchanges[half - 3 :])
    assert grown.exchanges == base.exchanges
    found, expected = (one.possible(["do you like soup?"], 5) for one in (grown, base))
    assert [one.response for one in found] == [one.response for one in expected]
    assert [one.cosine for one in found] == pytest.approx([one.cosine for one in expected], abs=1e-5)


@given(st.lists(st.text(max_size=12), max_size=5), st.text(max_size=12))
@settings(max_examples=60)
def test_what_was_said_was_said(turns: Sequence[str], other: str) -> None:
    assert all(turn in Said(turns) for turn in turns)
    assert (other in Said([])) is False


@pytest.fixture(scope="module")
def ours() -> Chat:
    return builtin_chat()


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("hello", "unmask"),
        ("who are you?", "dialogues"),
        ("tell me a joke please", "mask"),
        ("how can I fine-tune a model", "unmask finetune"),
        ("can you speak chinese?", "Chinese"),
        ("你好", "unmask"),
        ("你是谁呀", "编码器"),
        ("讲个笑话", "面具"),
        ("再见啦", "再见"),
    ],
)
def test_the_chat_of_the_package_knows_other_phrasings(ours: Chat, said: str, part: str) -> None:
    answer = ours(said).answer
    assert answer is not None
    assert part in answer


def test_the_chat_of_the_package_says_nothing_to_strangers(ours: Chat) -> None:
    for question in (*STRANGERS["en"], *STRANGERS["zh"]):
        assert ours(question).answer is None, question


def test_the_chat_of_the_package_says_nothing_to_strangers_in_the_middle_of_a_talk(ours: Chat) -> None:
    history = ["Who are you?", ours("Who are you?").answer or ""]
    for question in (*STRANGERS["en"][:8], *STRANGERS["zh"][:8]):
        assert ours.reply(history, question).answer is None, question


def test_the_chat_of_the_package_follows_up(ours: Chat) -> None:
    first = ours("What is unmask?")
    assert first.answer is not None
    assert "CPU" in (ours.reply(["What is unmask?", first.answer], "Does it need a GPU?").answer or "")
