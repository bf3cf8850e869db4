"""Finding entities in raw text: places in the original, long texts, models that cannot."""

import pytest
import torch

from unmask.apps.tag import EntityFinder
from unmask.errors import InputError
from unmask.model.about import About
from unmask.model.heads import BertWithHead, Tokens, make_head
from unmask.text.tokenizer import Tokenizer

LABELS = ("O", "B-PER", "I-PER")


@pytest.fixture(scope="module")
def find(model: BertWithHead, tokenizer: Tokenizer) -> EntityFinder:
    """Random weights that find an entity here and there."""
    head = make_head("tokens", model.bert.config, outputs=len(LABELS))
    assert isinstance(head, Tokens)
    head.classifier.bias.data = torch.tensor([0.0, 4.0, 4.0])
    return EntityFinder(BertWithHead(model.bert, head), tokenizer, About("tokens", labels=LABELS, max_length=16))


def test_entities_are_slices_of_the_text(find: EntityFinder) -> None:
    text = "The CAT sat,  she sang 天地人 and (it) walked!"
    answer = find(text)
    assert len(answer.tags) == 15  # words, marks and Chinese characters
    assert answer.entities
    assert all(text[entity.start : entity.end] == entity.text for entity in answer.entities)


def test_a_long_text_is_tagged_to_its_end(find: EntityFinder) -> None:
    text = "the cat sat on the green mat and it sang . " * 40
    answer = find(text)
    assert len(answer.tags) == 40 * 11
    assert answer.entities[-1].end > len(text) - 44


def test_texts_do_not_change_one_another(find: EntityFinder) -> None:
    texts = ["the cat sat", "", "天地人 sang and sang", "she walked unable in the rain " * 5]
    answers = find.many(texts)
    assert answers[1].to_dict() == {"entities": []}
    for text, answer in zip(texts, answers, strict=True):
        alone = find(text)
        assert alone.tags == answer.tags
        scores = [entity.score for entity in alone.entities]
        assert [entity.score for entity in answer.entities] == pytest.approx(scores, abs=1e-5)
    assert find.many([]) == []


def test_a_model_that_was_not_tuned_for_it_is_refused(model: BertWithHead, tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match="fine-tuned for tagging"):
        EntityFinder(model, tokenizer, About("pretraining"))


def test_a_text_that_cannot_be_read_spares_the_others(find: EntityFinder) -> None:
    sound, broken = find.many(["the cat sat", "half \udcff"])
    assert "entities" in sound.to_dict()
    assert "half a character" in broken.to_dict()["error"]
    with pytest.raises(InputError, match="half a character"):
        find("half \udcff")
    with pytest.raises(InputError, match="at most"):
        find("cat " * 300_000)
