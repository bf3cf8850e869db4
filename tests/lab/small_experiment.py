"""A made-up text and labelled examples of it, and an experiment on them that takes seconds."""

from pathlib import Path
from typing import Any

from unmask.lab.experiment import Asked

ANIMALS, PLACES = ("cat", "dog", "horse", "owl", "frog", "mouse"), ("barn", "garden", "kitchen", "forest", "river")
WARM, COLD = ("barn", "kitchen"), ("river", "forest")


def write_text(folder: Path, documents: int = 40) -> Path:
    """Documents of four sentences; every second word can be told from its neighbours."""
    stories = []
    for number in range(documents):
        animal, place = ANIMALS[number % 6], PLACES[(number // 6 + number) % 5]
        stories.append(
            f"The {animal} lives in the {place}.\nEvery morning the {animal} leaves the {place} for food.\n"
            f"In the evening the {animal} comes back to the {place}.\nIt sleeps well in the {place}."
        )
    path = folder / "stories.txt"
    path.write_text("\n\n".join(stories) + "\n", encoding="utf-8")
    return path


def write_examples(folder: Path) -> Path:
    """Sentences that are warm or cold by their place."""
    rows = [f"the {animal} sleeps in the {place},{place in WARM}" for animal in ANIMALS for place in WARM + COLD]
    path = folder / "examples.csv"
    path.write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def write_pairs(folder: Path) -> Path:
    """Word pairs: animals are like animals."""
    path = folder / "pairs.txt"
    path.write_text("cat dog 9\ncat barn 1\nhorse mouse 8\nowl river 2\ngarden forest 8\n", encoding="utf-8")
    return path


def small(experiment: str, folder: Path, *, labelled: bool = True, **changes: Any) -> Asked:
    """A request on such files."""
    examples = (write_examples(folder),) if labelled else ()
    usual: dict[str, Any] = {
        "text": () if experiment == "features" else (write_text(folder),),
        "train": examples,
        "dev": examples,
        "steps": None if experiment == "features" else 4,
        "vocabulary_size": 90,
        "length": 32,
        "batch_tokens": 128,
        "epochs": 1.0,
        "batch_size": 8,
    }
    return Asked(experiment, folder / "out", **{**usual, **changes})
