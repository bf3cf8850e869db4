"""A chat with a real FAQ and real documents behind it: each answers what it knows, and what none knows is said so."""

import json
from pathlib import Path

import pytest

import unmask
from unmask import cli
from unmask.apps.builtin_chat import builtin_chat
from unmask.apps.chat import Chat
from unmask.apps.conversations import Conversations
from unmask.apps.document_index import Source, indexed
from unmask.apps.documents import open_documents
from unmask.apps.faq import Faq, open_faq
from unmask.apps.faq_entries import Entry
from unmask.apps.faq_index import FaqIndex
from unmask.apps.not_knowing import AGAIN, STRANGERS, says_nothing
from unmask.apps.spaces import TextSpace
from unmask.apps.talking import Talk
from unmask.apps.turns import Said
from unmask.apps.vectors import TextVectors

pytestmark = pytest.mark.slow

FAQ = (
    Entry("When does the lighthouse open?", "The lighthouse opens at nine.", ("At what time can I get in?",)),
    Entry("How much is a ticket?", "A ticket costs four crowns.", ("What is the price of admission?",)),
    Entry("May I bring my dog?", "Dogs are welcome on a lead.", ("Are pets allowed?",)),
    Entry("Is there a place to park the car?", "Cars can stand behind the church.", ("Where is the parking?",)),
    Entry("Can I climb the tower with a wheelchair?", "There is no lift in the tower.", ("Is there a lift?",)),
    Entry("Where can we eat?", "Soup and bread are sold in the old boathouse.", ("Do you have a restaurant?",)),
)
DOCUMENTS = {
    "tower.txt": "The tower was built of red brick. Anna Berg lit the lamp every evening.",
    "ferry.txt": "The ferry crosses the bay twice a day. Captain Holm steered the ferry for years.",
}
WRITTEN = {  # a question to the documents: its answer and the file that has it
    "Who lit the lamp?": ("Anna Berg", "tower.txt"),
    "Who lit the lamp every evening?": ("Anna Berg", "tower.txt"),
    "Who steered the ferry?": ("Captain Holm", "ferry.txt"),
    "Who steered the ferry for years?": ("Captain Holm", "ferry.txt"),
}
NOWHERE = ("Who painted the ceiling?", "Who sold the horse?", "How high is the mountain?", *STRANGERS["en"][:3])


@pytest.fixture(scope="module")
def faq_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faq") / "faq"
    Faq.of(FaqIndex.of(FAQ, TextVectors("minilm"))).save(folder)
    return folder


@pytest.fixture(scope="module")
def documents_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index by words and vectors; its reader is the default model, which learned to read these very documents."""
    place = tmp_path_factory.mktemp("documents")
    for name, text in DOCUMENTS.items():
        (place / "files" / name).parent.mkdir(exist_ok=True)
        (place / "files" / name).write_text(text)
    asked = [(question, text) for question in (*WRITTEN, *NOWHERE) for text in DOCUMENTS.values()]
    answers = [next((a for a, _ in [WRITTEN.get(q, ("", ""))] if a and a in text), None) for q, text in asked]
    reader = unmask.Answerer("default", epochs=24, batch_size=8, learning_rate=5e-4, dropout=0.0, length=48)
    reader.fit(asked, answers).save(place / "reader")
    space, _ = TextSpace.of(TextVectors("minilm"), list(DOCUMENTS.values()))
    indexed([Source.of(place / "files")], space)[0].save(place / "index", reader=str(place / "reader"))
    return place / "index"


@pytest.fixture(scope="module")
def chat(faq_folder: Path, documents_folder: Path) -> Chat:
    return builtin_chat(faqs=[open_faq(faq_folder)], documents=[open_documents(documents_folder)])


@pytest.fixture
def talk(chat: Chat) -> Talk:
    return Talk(chat, Conversations(":memory:"))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("How much is a ticket?", "A ticket costs four crowns."),
        ("What does a ticket cost?", "A ticket costs four crowns."),
        ("At what time does the lighthouse open?", "The lighthouse opens at nine."),
        ("Are dogs allowed?", "Dogs are welcome on a lead."),
    ],
)
def test_a_frequent_question_is_answered_from_the_faq_in_anybodys_words(talk: Talk, asked: str, answer: str) -> None:
    spoken = talk.say(asked)
    assert (spoken.words, spoken.reply.source) == (answer, "faq")
    assert spoken.to_dict()["source"] == "faq"


@pytest.mark.parametrize("asked", [*WRITTEN])
def test_what_only_the_documents_say_is_answered_from_them(talk: Talk, asked: str) -> None:
    spoken = talk.say(asked)
    assert (spoken.words, spoken.reply.source) == (WRITTEN[asked][0], "documents")


def test_the_documents_themselves_say_where_it_is_written(documents_folder: Path) -> None:
    documents = open_documents(documents_folder)
    for question, (answer, name) in WRITTEN.items():
        found = documents(question).to_dict()
        assert (found["answer"], Path(found["source"]).name) == (answer, name)
        assert DOCUMENTS[name][found["start"] : found["end"]] == answer


@pytest.mark.parametrize("asked", [*WRITTEN])
def test_of_several_indexes_the_one_that_has_it_answers(documents_folder: Path, tmp_path: Path, asked: str) -> None:
    indexes = []
    for name, text in DOCUMENTS.items():
        (tmp_path / name).write_text(text)
        indexed([Source.of(tmp_path / name)])[0].save(
            tmp_path / f"of {name}", reader=str(documents_folder.parent / "reader")
        )
        indexes.append(open_documents(tmp_path / f"of {name}"))
    for documents in (indexes, indexes[::-1]):
        reply = builtin_chat(documents=documents)(asked)
        assert (reply.answer, reply.source) == (WRITTEN[asked][0], "documents")


def test_what_the_dialogues_know_needs_nobody_else(talk: Talk) -> None:
    assert talk.say("Who are you?").reply.source == "dialogue"


@pytest.mark.parametrize("asked", [*STRANGERS["en"][4:7], STRANGERS["zh"][0]])  # none that the reader has learned
def test_what_nobody_knows_is_said_to_be_unknown(talk: Talk, asked: str) -> None:
    spoken = talk.say(asked)
    assert (spoken.reply.answer, spoken.reply.source) == (None, None)
    assert says_nothing(spoken.words)


def test_one_conversation_through_all_sources_never_repeats_itself(talk: Talk) -> None:
    asked = ["Hello!", "How much is a ticket?", "Who lit the lamp?", STRANGERS["en"][0], "What does a ticket cost?"]
    spoken = [talk.say(text) for text in (*asked, "How much is a ticket?", "Who lit the lamp?")]
    assert [one.reply.source for one in spoken[:4]] == ["dialogue", "faq", "documents", None]
    said = [one.words for one in spoken]
    assert all(words not in Said(said[:place]) for place, words in enumerate(said))


@pytest.mark.parametrize("asked", ["Who lit the lamp?", "How much is a ticket?"])
def test_what_was_asked_before_is_said_to_be_answered_by_nobody_else(talk: Talk, asked: str) -> None:
    first, second = talk.say(asked), talk.say(asked)
    assert (second.reply.answer, second.reply.again) == (None, first.words)
    assert second.words in AGAIN["en"]


def test_the_command_line_has_all_of_them_behind_it(
    faq_folder: Path, documents_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lunch = faq_folder.parent / "lunch"
    Faq.of(FaqIndex.of(FAQ[-1:], TextVectors("minilm"))).save(lunch)
    both = ["--faq", str(lunch), "--faq", str(faq_folder)]
    words = ["--say", "May I bring a dog?", *both, "--documents", str(documents_folder), "--json"]
    monkeypatch.setattr("sys.argv", ["unmask", "chat", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    told = json.loads(capsys.readouterr().out)
    assert (ended.value.code or 0, told["answer"], told["source"]) == (0, "Dogs are welcome on a lead.", "faq")
