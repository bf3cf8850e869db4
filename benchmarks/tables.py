"""Writes the table of figures into README.md and README.zh.md from the records, so that a number is said once.

    python benchmarks/tables.py

A row names its record, what was measured in both languages, and how it reads the record's `result.json`.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
RECORDS = PROJECT / "benchmarks" / "records"
BLOCK = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->)", re.DOTALL)
HEADERS = {
    "README.md": "| what | ours | compared with | times as fast | runs |\n|---|---|---|---|---|\n",
    "README.zh.md": "| 测什么 | 我们 | 对照 | 快几倍 | 次数 |\n|---|---|---|---|---|\n",
}


@dataclass(frozen=True)
class Figures:
    """A measurement and the one it took turns with."""

    ours: float
    theirs: float
    other: str  # who they are
    unit: str
    times: float  # how many times as fast ours is
    runs: int


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    record: str
    what: dict[str, str]  # README's name -> words
    read: Callable[[dict[str, Any]], Figures]

    def line(self, readme: str) -> str:
        """The line in the language of a README."""
        figures = self.read(json.loads((RECORDS / self.record / "result.json").read_text(encoding="utf-8")))
        cells = (
            f"[{self.what[readme]}](benchmarks/records/{self.record}/README.md)",
            f"{number(figures.ours)} {figures.unit}",
            f"{figures.other}: {number(figures.theirs)} {figures.unit}",
            f"**{figures.times:.2g}**",
            str(figures.runs),
        )
        return f"| {' | '.join(cells)} |\n"


def number(value: float) -> str:
    """Three digits are enough, and no powers of ten.

    >>> number(6364.5), number(0.7549)
    ('6,364', '0.755')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def start(result: dict[str, Any]) -> Figures:
    """A cold start until the first answer."""
    runs = len(result["rounds"]["ours"])
    return Figures(result["ours"], result["theirs"], "transformers", "s", 1 / result["ratio"], runs)


def vocabulary(result: dict[str, Any]) -> Figures:
    """Processor seconds: theirs uses two cores, ours one."""
    ours, theirs = (median(result["time"][who]["cpu_seconds"]) for who in ("ours", "theirs"))
    return Figures(ours, theirs, "tokenizers", "CPU s", theirs / ours, len(result["time"]["ours"]["cpu_seconds"]))


def prepared(language: str) -> Callable[[dict[str, Any]], Figures]:
    """Text to a store, in megabytes a second."""

    def read(result: dict[str, Any]) -> Figures:
        ours, theirs = result[language]["megabytes_per_second"]
        return Figures(ours, theirs, "tokenizers", "MB/s", result[language]["ratio"], len(result[language]["ours"]))

    return read


def pretrained(size: str) -> Callable[[dict[str, Any]], Figures]:
    """Pretraining steps, in useful pieces a second."""

    def read(result: dict[str, Any]) -> Figures:
        found = result[size]
        runs = len(found["ratios"])
        return Figures(found["ours"], found["theirs"], "transformers", "pieces/s", found["ratio"], runs)

    return read


def learned(result: dict[str, Any]) -> Figures:
    """How soon ours has the held-out loss that their script ends with."""
    return Figures(result["ours"], result["theirs"], "transformers", "CPU s", 1 / result["ratio"], 1)


def predicted(name: str, kind: str, form: str) -> Callable[[dict[str, Any]], Figures]:
    """Vectors of texts, in texts a second by the clock or of the processor."""

    def read(result: dict[str, Any]) -> Figures:
        found, ours = result[name], f"unmask {form}"
        rates, times = (found["kinds"][kind][part] for part in ("rates", "times"))
        unit = {"wall": "texts/s", "processor": "texts/CPU s"}[found["clock"]]
        theirs = "transformers"
        return Figures(rates[ours], rates[theirs], theirs, unit, times[ours][theirs], found["runs"])

    return read


def finetuned(kind: str, what: str) -> Callable[[dict[str, Any]], Figures]:
    """Fine-tuning and prediction, in examples a second."""

    def read(result: dict[str, Any]) -> Figures:
        found = result[kind][what]
        runs = len(found["rounds"]["ours"])
        return Figures(found["ours"], found["theirs"], "transformers", "examples/s", found["ratio"], runs)

    return read


KINDS = {"sentences": "句子", "passages": "段落", "single texts": "单条短文本"}
PREDICTED = (  # record, measurement, its name in both languages, kinds of text
    ("2026-11-18_predict", "minilm, English", ("MiniLM", "MiniLM"), tuple(KINDS)),
    ("2026-11-16_predict", "base, English", ("base size", "base 尺寸"), ("sentences", "passages")),
    ("2026-11-18_predict", "base, Chinese", ("base size, Chinese", "base 尺寸，中文"), ("sentences", "passages")),
    ("2026-11-16_predict", "mini, Chinese", ("mini size, Chinese", "mini 尺寸，中文"), ("sentences", "passages")),
)
FINETUNED = (  # work, its words in both languages, the form of the model
    ("training", ("fine-tuning", "微调"), ", bfloat16"),  # theirs: float32
    ("prediction_exported", ("predictions of", "预测"), ", float32"),
    ("prediction_int8", ("predictions of", "预测"), ", int8"),
)
ROWS = [
    *(
        Row(
            record,
            {
                "README.md": f"vectors of {kind}, {names[0]}, {form}",
                "README.zh.md": f"{KINDS[kind]}的向量，{names[1]}，{form}",
            },
            predicted(model, kind, form),
        )
        for record, model, names, kinds in PREDICTED
        for kind in kinds
        for form in ("int8", "float32")
    ),
    *(
        Row(
            "2026-11-16_pretrain_speed",
            {"README.md": f"pretraining, size {size}", "README.zh.md": f"预训练，{size} 尺寸"},
            pretrained(size),
        )
        for size in ("tiny", "mini", "small", "base")
    ),
    *(
        Row(
            "2026-11-18_predictions",
            {"README.md": f"{words[0]} MiniLM, {name}{form}", "README.zh.md": f"{words[1]} MiniLM，{name}{form}"},
            finetuned(kind, work),
        )
        for work, words, form in FINETUNED
        for kind, name in (("classify", "SST-2"), ("answer", "SQuAD"))
    ),
    Row(
        "2026-11-16_learning",
        {
            "README.md": "pretraining a mini to the held-out loss that a plain script has after 20 minutes",
            "README.zh.md": "把 mini 预训练到普通脚本 20 分钟后的验证损失",
        },
        learned,
    ),
    Row(
        "2026-11-16_start",
        {
            "README.md": "`unmask fill` from a cold start, base size",
            "README.zh.md": "冷启动到 `unmask fill` 的第一个答案，base 尺寸",
        },
        start,
    ),
    Row(
        "2026-11-15_vocabulary",
        {
            "README.md": "learning 30,000 pieces from 66 MB of English",
            "README.zh.md": "从 66 MB 英文学习 30,000 个词片",
        },
        vocabulary,
    ),
    Row(
        "2026-11-15_prepare",
        {"README.md": "preparing English text for pretraining", "README.zh.md": "为预训练处理英文文本"},
        prepared("English"),
    ),
    Row(
        "2026-11-15_prepare",
        {"README.md": "preparing Chinese text for pretraining", "README.zh.md": "为预训练处理中文文本"},
        prepared("Chinese"),
    ),
]


def filled(page: str, readme: str) -> str:
    """A README with its block of figures made anew."""
    table = HEADERS[readme] + "".join(row.line(readme) for row in ROWS)
    return BLOCK.sub(lambda found: f"{found[1]}{table}{found[2]}", page)


if __name__ == "__main__":
    for readme in HEADERS:
        path = PROJECT / readme
        path.write_text(filled(path.read_text(encoding="utf-8"), readme), encoding="utf-8")
