"""A data set in figures: repeats and leakage as plain counting finds them, for examples of every task."""

from hypothesis import given
from hypothesis import strategies as st

from unmask.data.examples import ChoiceExample, QuestionExample, TaggedExample, TextExample
from unmask.data.overview import figures_of, near_key, overview, texts_of

TEXTS = st.lists(
    st.sampled_from(["Good.", "good", "GOOD !", "bad", "Ｂａｄ", "好。", "好", "?"]), min_size=1, max_size=12
)
NEAR = {"Good.": 1, "good": 1, "GOOD !": 1, "bad": 2, "Ｂａｄ": 2, "好。": 3, "好": 3, "?": 4}


@given(TEXTS, TEXTS)
def test_repeats_and_leakage_are_counted_exactly_and_nearly(train: list[str], dev: list[str]) -> None:
    found = overview([TextExample(text) for text in train], [TextExample(text) for text in dev])
    assert found.train.repeated == sum(text in train[:at] for at, text in enumerate(train))
    nears = [NEAR[text] for text in train]
    assert found.train.nearly_repeated == sum(near in nears[:at] for at, near in enumerate(nears))
    assert found.leaked == sum(text in train for text in dev)
    assert found.nearly_leaked == sum(NEAR[text] in nears for text in dev)


def test_labels_that_contradict_one_another_are_counted() -> None:
    train = [TextExample("so good", label="a"), TextExample("So good!", label="b"), TextExample("fine", label="a")]
    figures = figures_of(train)
    assert figures.labels == {"a": 2, "b": 1}
    assert figures.contradicted == 2


def test_shared_texts_are_shown_with_both_labels() -> None:
    found = overview([TextExample("so good", label="a")], [TextExample("So good!", label="b")])
    assert (found.shared[0].exact, found.shared[0].train_label, found.shared[0].dev_label) == (False, "a", "b")
    assert found.to_dict()["dev"]["examples"] == 1


def test_examples_of_every_task_have_texts() -> None:
    tagged = TaggedExample("Ann sang", ((0, 3), (4, 8)), ("B-PER", "O"))
    question = QuestionExample("Who?", "Ann sang.")
    choice = ChoiceExample("Ann", ("sang", "fell"), 0)
    assert [len(texts_of(one)) for one in (tagged, question, choice)] == [1, 2, 4]
    assert figures_of([tagged]).labels == {"PER": 1}
    assert figures_of([question]).labels == {}


def test_lengths_are_those_of_the_texts() -> None:
    lengths = figures_of([TextExample("x" * size) for size in range(1, 101)]).lengths
    assert (lengths.shortest, lengths.median, lengths.longest) == (1, 50, 100)
    assert 94 <= lengths.most <= 96


def test_marks_alone_are_not_all_the_same() -> None:
    assert near_key(["!"]) != near_key(["?"])
