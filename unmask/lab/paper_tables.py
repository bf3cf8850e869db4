"""What the paper (Devlin et al., 2018) published for each experiment, to stand beside a run for orientation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperTable:
    """A table as published."""

    source: str
    columns: tuple[str, ...]  # after the row's name
    rows: tuple[tuple[str, ...], ...]  # the name first


TABLES: dict[str, PaperTable] = {
    "objectives": PaperTable(
        "table 5, dev sets, BERT base",
        ("MNLI-m accuracy", "QNLI accuracy", "MRPC accuracy", "SST-2 accuracy", "SQuAD F1"),
        (
            ("BERT", "84.4", "88.4", "86.7", "92.7", "88.5"),
            ("no next sentence", "83.9", "84.9", "86.5", "92.6", "87.9"),
            ("left to right", "82.1", "84.3", "77.5", "92.1", "77.8"),
            ("left to right + BiLSTM", "82.1", "84.1", "75.7", "91.6", "84.9"),
        ),
    ),
    "sizes": PaperTable(
        "table 6, dev sets; layers × width × heads",
        ("masked-word perplexity", "MNLI-m accuracy", "MRPC accuracy", "SST-2 accuracy"),
        (
            ("3 × 768 × 12", "5.84", "77.9", "79.8", "88.4"),
            ("6 × 768 × 3", "5.24", "80.6", "82.2", "90.7"),
            ("6 × 768 × 12", "4.68", "81.9", "84.8", "91.3"),
            ("12 × 768 × 12", "3.99", "84.4", "86.7", "92.9"),
            ("12 × 1024 × 16", "3.54", "85.7", "86.9", "93.3"),
            ("24 × 1024 × 16", "3.23", "86.6", "87.8", "93.7"),
        ),
    ),
    "features": PaperTable(
        "table 7, CoNLL-2003, BERT base",
        ("dev F1",),
        (
            ("fine-tuning", "96.4"),
            ("embeddings", "91.0"),
            ("second-to-last layer", "95.6"),
            ("last layer", "94.9"),
            ("weighted sum of the last four", "95.9"),
            ("the last four side by side", "96.1"),
            ("weighted sum of all layers", "95.5"),
        ),
    ),
    "masking": PaperTable(
        "table 8, dev sets, BERT base",
        ("MNLI fine-tuned", "NER fine-tuned", "NER by features"),
        (
            ("80 mask, 10 same, 10 random", "84.2", "95.4", "94.9"),
            ("100 mask, 0 same, 0 random", "84.3", "94.9", "94.0"),
            ("80 mask, 0 same, 20 random", "84.1", "95.2", "94.6"),
            ("80 mask, 20 same, 0 random", "84.4", "95.2", "94.7"),
            ("0 mask, 20 same, 80 random", "83.7", "94.8", "94.6"),
            ("0 mask, 0 same, 100 random", "83.6", "94.9", "94.6"),
        ),
    ),
    "ancestors": PaperTable(
        "table 1, GLUE test; word2vec and GloVe are not in it",
        ("SST-2 accuracy", "average"),
        (
            ("ELMo (under a BiLSTM with attention)", "90.4", "71.0"),
            ("GPT", "91.3", "75.1"),
            ("BERT base", "93.5", "79.6"),
        ),
    ),
}
