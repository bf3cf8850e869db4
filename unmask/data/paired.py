"""Pairs of texts to learn embeddings from: a table comes in, pairs with a value, or pairs that belong together, go out.

The columns are `text_a` and `text_b` and a `label`, which is a number; or, without labels, perhaps `text_c`, a hard
negative: it only seems to belong to the first text.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from unmask.data.cells import is_blank, left_out_notes, no_examples
from unmask.data.examples import Reading, TextExample
from unmask.data.table_rows import read_rows
from unmask.data.tables import PLAIN, Layout, read_table, rename_columns

PAIRED = replace(PLAIN, negative=("text_c",))


def read_pairs(path: Path, *, columns: Mapping[str, str] | None = None, labelled: bool = True) -> Reading:
    """The pairs of a table; where they are to be learned from, those with an empty text are left out.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pairs.tsv"
    >>> _ = file.write_text("text_a\\ttext_b\\nIs it free?\\tIt costs nothing.\\nWhere?\\t\\n")
    >>> reading = read_pairs(file)
    >>> [(example.text, example.pair, example.label) for example in reading.examples], reading.notes
    ([('Is it free?', 'It costs nothing.', None)], ('1 empty text left out',))
    """
    layout = rename_columns(PAIRED, columns or {})
    if not labelled or _has_labels(path, layout):
        return read_table(path, labels="value", layout=layout, labelled=labelled)
    reading = read_table(path, layout=layout, labelled=False)
    kept = [number for number, example in enumerate(reading.examples) if _is_whole(example)]
    if not kept:
        raise no_examples(path, "rows with two texts")
    return Reading(
        tuple(reading.examples[number] for number in kept),
        (*reading.notes, *left_out_notes({"empty text": len(reading.examples) - len(kept)})),
        tuple(reading.places[number] for number in kept),
    )


def _has_labels(path: Path, layout: Layout) -> bool:
    _, row = next(read_rows(path, columns=layout.columns), ("", {}))
    return any(name in row for name in layout.label)


def _is_whole(example: TextExample) -> bool:
    return not is_blank(example.text) and not (example.pair is not None and is_blank(example.pair))
