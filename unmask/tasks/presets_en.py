"""English data sets: GLUE, SQuAD, SWAG, CODAH and CoNLL-2003, with the recipes and figures of the BERT paper.

Devlin et al. 2019: the figures for BERT-base are those of tables 1, 2, 4 and 7, the recipes those of section 4 and of
appendix A.3. The paper has no figure for BERT-base on SQuAD 2.0, and none on WNLI.
"""

from dataclasses import replace
from functools import partial

from unmask.data.choices import CODAH, SWAG, read_choices
from unmask.data.questions import read_questions
from unmask.data.tables import Layout, read_table
from unmask.data.tagged import read_tagged
from unmask.tasks.preset import BINARY, INFERENCE, PARTS, SENTENCES, Preset, Recipe

PAPER = "Devlin et al. 2019, BERT-base"
ENTAILMENT = ("entailment", "not_entailment")
TAGGING = Recipe((5e-5, 3e-5, 2e-5), epochs=4)  # from the ranges of appendix A.3: the paper names no choice
TSV = {part: (f"{part}.tsv",) for part in PARTS}
GLUE = ("mnli", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte", "wnli")  # in the order of the paper's table 1

ENGLISH: dict[str, Preset] = {
    "cola": Preset(
        "classify",
        "CoLA",
        TSV,
        partial(read_table, layout=Layout(text=("sentence",), columns=("source", "label", "mark", "sentence"))),
        ("matthews", "accuracy"),
        BINARY,
        published={"test": 52.1},
        source=PAPER,
        submission={"test": "CoLA.tsv"},
    ),
    "sst2": Preset(
        "classify",
        "SST-2",
        TSV,
        partial(read_table, layout=Layout(text=("sentence",))),
        ("accuracy",),
        BINARY,
        published={"test": 93.5},
        source=PAPER,
        submission={"test": "SST-2.tsv"},
    ),
    "mrpc": Preset(
        "classify",
        "MRPC",
        {part: (f"{part}.tsv", f"msr_paraphrase_{part}.txt") for part in PARTS},
        partial(read_table, layout=Layout(text=("#1 String",), pair=("#2 String",), label=("Quality",))),
        ("f1", "accuracy"),
        BINARY,
        pair=True,
        published={"test": 88.9},
        source=PAPER,
        submission={"test": "MRPC.tsv"},
    ),
    "stsb": Preset(
        "regress",
        "STS-B",
        TSV,
        partial(read_table, layout=replace(SENTENCES, label=("score",)), labels="value"),
        ("spearman", "pearson"),
        pair=True,
        published={"test": 85.8},
        source=PAPER,
        submission={"test": "STS-B.tsv"},
    ),
    "qqp": Preset(
        "classify",
        "QQP",
        TSV,
        # a few rows of the published file lost cells; every reader of it passes over them
        partial(
            read_table,
            layout=Layout(text=("question1",), pair=("question2",), label=("is_duplicate",), broken=True),
        ),
        ("f1", "accuracy"),
        BINARY,
        pair=True,
        published={"test": 71.2},
        source=PAPER,
        submission={"test": "QQP.tsv"},
    ),
    "mnli": Preset(
        "classify",
        "MNLI",
        {
            "train": ("train.tsv",),
            "dev": ("dev_matched.tsv",),
            "dev_mismatched": ("dev_mismatched.tsv",),
            "test": ("test_matched.tsv",),
            "test_mismatched": ("test_mismatched.tsv",),
        },
        partial(read_table, layout=replace(SENTENCES, label=("gold_label",), unlabelled=("-",))),
        ("accuracy",),
        INFERENCE,
        pair=True,
        published={"test": 84.6, "test_mismatched": 83.4},
        source=PAPER,
        submission={"test": "MNLI-m.tsv", "test_mismatched": "MNLI-mm.tsv"},
    ),
    "qnli": Preset(
        "classify",
        "QNLI",
        TSV,
        partial(read_table, layout=Layout(text=("question",), pair=("sentence",))),
        ("accuracy",),
        ENTAILMENT,
        pair=True,
        published={"test": 90.5},
        source=PAPER,
        submission={"test": "QNLI.tsv"},
    ),
    "rte": Preset(
        "classify",
        "RTE",
        TSV,
        partial(read_table, layout=SENTENCES),
        ("accuracy",),
        ENTAILMENT,
        pair=True,
        published={"test": 66.4},
        source=PAPER,
        submission={"test": "RTE.tsv"},
    ),
    "wnli": Preset(
        "classify",
        "WNLI",
        TSV,
        partial(read_table, layout=SENTENCES),
        ("accuracy",),
        BINARY,
        pair=True,
        submission={"test": "WNLI.tsv"},
    ),
    "squad1": Preset(
        "answer",
        "squad",
        {part: (f"{part}-v1.1.json",) for part in PARTS},
        read_questions,
        ("f1", "exact_match"),
        recipe=Recipe((5e-5,), length=384),
        published={"dev": 88.5},
        source=PAPER,
        submission={"dev": "predictions.json", "test": "predictions.json"},
    ),
    "squad2": Preset(
        "answer",
        "squad",
        {part: (f"{part}-v2.0.json",) for part in PARTS},
        read_questions,
        ("f1", "exact_match"),
        recipe=Recipe((5e-5,), epochs=2, batch_size=48, length=384),
        submission={"dev": "predictions.json", "test": "predictions.json"},
    ),
    "swag": Preset(
        "choose",
        "swag",
        {"train": ("train.csv",), "dev": ("val.csv",), "test": ("test.csv",)},
        partial(read_choices, layout=SWAG),
        ("accuracy",),
        recipe=Recipe((2e-5,), batch_size=16),
        published={"dev": 81.6},
        source=PAPER,
    ),
    "codah": Preset(
        "choose",
        "fold_0",
        TSV,
        partial(read_choices, layout=CODAH),
        ("accuracy",),
        recipe=Recipe((2e-5,), batch_size=16),
    ),
    "conll2003": Preset(
        "tag",
        "conll2003",
        {
            "train": ("eng.train", "train.txt"),
            "dev": ("eng.testa", "valid.txt", "dev.txt"),
            "test": ("eng.testb", "test.txt"),
        },
        read_tagged,
        ("f1", "precision", "recall"),
        recipe=TAGGING,
        published={"dev": 96.4, "test": 92.4},
        source=PAPER,
    ),
}
