"""Real Chinese weights: an ALBERT folded into a BERT fills masks, and what it has read helps it learn a task."""

import importlib.util
import sys
from pathlib import Path

import pytest

from unmask import Classifier, load
from unmask.errors import InputError

PROJECT = Path(__file__).resolve().parents[2]
PRAISE = ("好", "漂亮", "干净", "舒服", "美味", "热情", "便宜", "愉快")
BLAME = ("差", "难看", "肮脏", "难受", "难吃", "冷淡", "昂贵", "糟糕")
UNSEEN = {"正": ["优秀", "精彩", "方便", "满意"], "负": ["恶劣", "无聊", "麻烦", "失望"]}
SENTENCES = ("这家店真的很{}。", "我觉得房间非常{}，下次还会写评论。", "总的来说，服务{}。")


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = importlib.util.spec_from_file_location("fold_albert", PROJECT / "benchmarks" / "fold_albert.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("albert")
    try:
        module.write_bert(module.albert_tiny(), folder)
    except InputError as error:
        pytest.skip(str(error))
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
