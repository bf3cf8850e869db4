"""What a report says of its data, and of names and places that should make no difference: figures in, tables out."""

from collections.abc import Callable

from unmask.data.overview import Overview, PartFigures
from unmask.tasks.bias import BiasReport
from unmask.tasks.report_parts import Cell, Part, Table, shortened

MOST_LABELS = 12  # in the table of data
MOST_ROWS = 24  # of swapped names and places
FIGURES: dict[str, Callable[[PartFigures], int]] = {
    "examples": lambda part: part.examples,
    "characters, median": lambda part: part.lengths.median,
    "characters, 95 %": lambda part: part.lengths.most,
    "characters, most": lambda part: part.lengths.longest,
    "repeated exactly": lambda part: part.repeated,
    "repeated nearly": lambda part: part.nearly_repeated,
    "same text, other label": lambda part: part.contradicted,
}


def parts_of_data(found: Overview) -> list[Part]:
    """A table of both parts, and one of what they share."""
    return [data_table(found), *leakage(found)]


def data_table(found: Overview) -> Table:
    """Sizes, lengths, labels and repeats of train and dev side by side."""
    parts = [part for part in (found.train, found.dev) if part is not None]
    labels = list(dict.fromkeys(label for part in parts for label in part.labels))
    rows: list[tuple[Cell, ...]] = [(name, *(value(part) for part in parts)) for name, value in FIGURES.items()]
    rows += [(f"label {shortened(one, 24)}", *(_share(part, one) for part in parts)) for one in labels[:MOST_LABELS]]
    note = f"{len(labels) - MOST_LABELS:,} more labels." if len(labels) > MOST_LABELS else ""
    return Table("Data", ("", "train", "dev")[: len(parts) + 1], tuple(rows), note)


def leakage(found: Overview) -> list[Part]:
    """Texts that are learned from and measured on, if there are any."""
    if found.dev is None:
        return []
    share = found.nearly_leaked / found.dev.examples
    note = (
        f"{found.nearly_leaked:,} of {found.dev.examples:,} examples measured on ({share:.1%}) are among those learned "
        f"from but for case, blanks and marks, {found.leaked:,} exactly."
    )
    rows = tuple((shortened(one.text, 120), one.train_label, one.dev_label) for one in found.shared)
    return [Table("In train and dev", ("text", "label in train", "label in dev"), rows, note, wide=bool(rows))]


def bias_table(found: BiasReport) -> Table:
    """What swapped names and places do to the answers."""
    rows = tuple(
        (
            f"{row.first_group} / {row.second_group}",
            row.label,
            row.first,
            row.second,
            row.difference,
            row.p,
            f"{row.changed:.0%}",
        )
        for row in sorted(found.rows, key=lambda row: -abs(row.difference))[:MOST_ROWS]
    )
    columns = ("swapped", "label", "first", "second", "difference", "p", "answers change")
    note = (
        f"Sentences in which nothing but a name or a place differs: {found.verdict}. p by a paired sign-flip test over "
        "sentences, corrected for the number of comparisons."
    )
    return Table("Swapped names and places", columns, rows, note, wide=True)


def _share(part: PartFigures, label: str) -> str:
    count = part.labels.get(label, 0)
    return f"{count:,} ({count / max(sum(part.labels.values()), 1):.1%})"
