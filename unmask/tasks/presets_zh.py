"""Chinese data sets: sentiment, pairs, news, inference, reading, entities and multiple choice.

Recipes and the figures for Google's Chinese BERT-base are those of Chinese-BERT-wwm (Cui et al. 2019), CLUE (Xu et al.
2020) and OCNLI (Hu et al. 2020). Files of CLUE (json) and those in common use (tab-separated, with or without a header)
are both read; answer files are CLUE's, whose test sets of TNEWS and C3 have a version 1.1 and an older 1.0.
"""

from dataclasses import replace
from functools import partial

from unmask.data.choices import read_c3
from unmask.data.questions import read_questions
from unmask.data.tables import Layout, read_table
from unmask.data.tagged import read_tagged
from unmask.tasks.preset import BINARY, INFERENCE, PARTS, SENTENCES, Preset, Recipe

WWM = "Cui et al. 2019, BERT-base Chinese, best of ten"
CLUE = "Xu et al. 2020 (CLUE), BERT-base Chinese"
OCNLI = "Hu et al. 2020, BERT-base Chinese, mean of five, trained on 50k pairs"
NEWS = (
    "news_story news_culture news_entertainment news_sports news_finance news_house news_car news_edu news_tech "
    "news_military news_travel news_world news_stock news_agriculture news_game"
)
# CLUE numbers its news from 100 to 116 and left out 105 and 111
NEWS_CODES = dict(zip(NEWS.split(), (str(code) for code in range(100, 117) if code not in (105, 111)), strict=True))
MATCHING = Layout(text=("text_a", "sentence1"), pair=("text_b", "sentence2"), columns=("text_a", "text_b", "label"))

CHINESE: dict[str, Preset] = {
    "chnsenticorp": Preset(
        "classify",
        "chnsenticorp",
        {part: (f"{part}.tsv",) for part in PARTS},
        partial(read_table, layout=Layout(text=("text_a", "text"))),
        ("accuracy",),
        BINARY,
        language="zh",
        recipe=Recipe((2e-5,), batch_size=64, length=256),
        published={"dev": 94.7, "test": 95.0},
        source=WWM,
    ),
    "lcqmc": Preset(
        "classify",
        "lcqmc",
        {part: (f"{part}.txt", f"{part}.tsv", f"{part}.json") for part in PARTS},
        partial(read_table, layout=MATCHING),
        ("accuracy", "f1"),
        BINARY,
        pair=True,
        language="zh",
        recipe=Recipe((2e-5,), batch_size=64),
        published={"dev": 89.4, "test": 86.9},
        source=WWM,
    ),
    "afqmc": Preset(
        "classify",
        "afqmc",
        {part: (f"{part}.json", f"{part}.txt", f"{part}.tsv") for part in PARTS},
        partial(read_table, layout=MATCHING),
        ("accuracy", "f1"),
        BINARY,
        pair=True,
        language="zh",
        recipe=Recipe((2e-5,), batch_size=16),
        published={"dev": 74.2, "test": 73.7},
        source=CLUE,
        submission={"test": "afqmc_predict.json"},
    ),
    "tnews": Preset(
        "classify",
        "tnews",
        {**{part: (f"{part}.json", f"{part}.tsv") for part in PARTS}, "test1.0": ("test1.0.json",)},
        partial(
            read_table,
            layout=Layout(text=("sentence", "text"), label=("label_desc", "label"), columns=("text", "label")),
        ),
        ("accuracy",),
        tuple(NEWS.split()),
        language="zh",
        recipe=Recipe((2e-5,), batch_size=16),
        published={"dev": 56.1, "test": 56.6},
        source=CLUE,
        submission={"test": "tnews11_predict.json", "test1.0": "tnews10_predict.json"},
        submitted_labels=NEWS_CODES,
    ),
    "ocnli": Preset(
        "classify",
        "ocnli",
        {
            "train": ("train.json", "train.50k.json", "train.30k.json", "train.10k.json"),
            "dev": ("dev.json",),
            "test": ("test.json",),
        },
        partial(read_table, layout=replace(SENTENCES, unlabelled=("-",))),
        ("accuracy",),
        INFERENCE,
        pair=True,
        language="zh",
        recipe=Recipe((2e-5,)),
        published={"dev": 74.5, "test": 72.2},
        source=OCNLI,
        submission={"test": "ocnli_50k_predict.json"},
    ),
    "cmrc2018": Preset(
        "answer",
        "cmrc2018",
        {
            "train": ("train.json", "cmrc2018_train.json"),
            "dev": ("dev.json", "cmrc2018_dev.json"),
            "trial": ("trial.json", "cmrc2018_trial.json"),
            "test": ("test.json", "cmrc2018_test*.json"),
        },
        read_questions,
        ("f1", "exact_match"),
        language="zh",
        recipe=Recipe((3e-5,), epochs=2, length=512),
        published={"dev": 84.5},
        source=WWM,
        submission={"dev": "predictions.json", "trial": "predictions.json", "test": "cmrc2018_predict.json"},
    ),
    "msra_ner": Preset(
        "tag",
        "msra_ner",
        {part: (f"{part}.bio.txt", f"msra_{part}_bio.txt", f"{part}.txt") for part in PARTS},
        read_tagged,
        ("f1", "precision", "recall"),
        language="zh",
        recipe=Recipe((5e-5, 3e-5, 2e-5)),
        published={"test": 95.3},
        source=WWM,
    ),
    "c3": Preset(
        "choose",
        "c3",
        {
            "train": ("c3-?-train.json", "?-train.json"),
            "dev": ("c3-?-dev.json", "?-dev.json"),
            "test": ("test1.1.json", "c3-?-test.json", "?-test.json"),
            "test1.0": ("test1.0.json",),
        },
        read_c3,
        ("accuracy",),
        language="zh",
        recipe=Recipe((2e-5,), epochs=8, batch_size=24, length=512),
        published={"dev": 65.7, "test": 64.5},
        source=CLUE,
        submission={"test": "c311_predict.json", "test1.0": "c310_predict.json"},
    ),
}
