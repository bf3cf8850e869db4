"""How well questions are answered from documents, end to end: found, read, and refused where nothing is written.

    OMP_NUM_THREADS=1 python benchmarks/documents.py ../shared/data READER [SET…] --questions 300 -o result.json

Sets: `squad` (SQuAD 1.1) and `cmrc2018`, of each the dev part, or the trial part where there is no other. Every context
of the set becomes a file of an index, and the questions are asked of all of them by the application of documents. Three
figures stand side by side: the answers when a question's own document is given, how often it is found, and the answers
end to end. Then each question is asked of an index without its document and all others of the same article: how
often it is said that nothing is written there, and how far the confidence tells the two apart (AUROC).
± is half of the 95 % interval over questions.

`--constants` asks other questions, those halfway between the measured ones, with several values of AHEAD and
LEAST_FIT: the table by which the two are chosen.
"""

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmask.apps import answer
from unmask.apps.answer import AnswerFinder, Found, Passage
from unmask.apps.document_index import DocumentIndex, Source, indexed
from unmask.apps.documents import READ, Documents, best_passages, open_documents
from unmask.apps.faq_measures import auroc
from unmask.apps.refusing import fault_of_words
from unmask.apps.spaces import TextSpace
from unmask.apps.vectors import TextVectors
from unmask.data.examples import QuestionExample, Reading
from unmask.errors import InputError
from unmask.tasks.cmrc_metrics import cmrc_scores
from unmask.tasks.preset_files import find_files, read_files
from unmask.tasks.presets import PRESETS
from unmask.tasks.question_metrics import Answers, AnswerScores, Given, squad1_scores

Scorer = Callable[[Answers, Given], AnswerScores]
SETS: dict[str, tuple[str, Scorer]] = {"squad": ("squad1", squad1_scores), "cmrc2018": ("cmrc2018", cmrc_scores)}
PARTS = ("dev", "trial")  # a set is measured on the first of these that it has
FOLDS = 10  # indexes without a tenth of the articles each, so that all but a few other documents stay
DEPTHS = (1, 5, READ)
WITHIN_ARTICLE = re.compile(r"(\.paragraphs\[\d+\])?\.qas\[\d+\]$")
AHEADS, LEAST_FITS = (0.0, 4.0, 8.0, 16.0, 32.0), (0.0, 0.2, 0.3, 0.4, 0.5, 0.6)  # constants to try
LOWEST = -1e9  # the margin where there was nothing to read


@dataclass(frozen=True)
class Asked:
    """A question, and the file that its context became."""

    example: QuestionExample
    file: Path

    @property
    def right(self) -> list[str]:
        """The answers that count as right."""
        return [answer.text for answer in self.example.answers or ()]


@dataclass(frozen=True)
class Corpus:
    """Documents in folders, and the questions on them."""

    folders: tuple[Path, ...]  # all documents of an article lie in one of them
    asked: tuple[Asked, ...]


def main() -> None:
    """Measures the sets one after another, writing the figures after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a folder with the sets' folders")
    parser.add_argument("reader", help="a model that was fine-tuned for answering")
    parser.add_argument("sets", nargs="*", default=[*SETS])
    parser.add_argument("--encoder", help="an embedding model, to find passages by meaning too")
    parser.add_argument("--constants", action="store_true", help="try constants on other questions")
    parser.add_argument("--questions", type=int, default=300, help="of each set at most, evenly spaced")
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    rows = []
    try:
        for name in asked.sets:
            measure = tried if asked.constants else measured
            rows.append(measure(name, asked.data, asked.reader, encoder=asked.encoder, most=asked.questions))
            print(json.dumps(rows[-1]), flush=True)
            about = {"reader": asked.reader, "encoder": asked.encoder, "rows": rows}
            asked.output.write_text(json.dumps(about, indent=1) + "\n")
    except InputError as error:
        parser.error(str(error))


def measured(name: str, data: Path, reader: str, *, encoder: str | None = None, most: int = 300) -> dict[str, Any]:
    """The figures of one set."""
    part, reading = read_set(name, data)
    with opened(reading, reader, encoder, most) as (documents, corpus):
        return {
            "set": name,
            "part": part,
            "documents": len(documents.index.files),
            "passages": len(documents.index.passages),
            "questions": len(corpus.asked),
            **answered(documents, corpus, SETS[name][1]),
        }


def tried(name: str, data: Path, reader: str, *, encoder: str | None = None, most: int = 300) -> dict[str, Any]:
    """What the constants do to questions that are not the measured ones: F1, and how often nothing is answered."""
    part, reading = read_set(name, data)
    with opened(reading, reader, encoder, most, halfway=True) as (documents, corpus):
        documents.reader.outputs = remembered(documents.reader.outputs)
        right = [asked.right for asked in corpus.asked]
        rows, usual = [], answer.AHEAD
        for ahead in AHEADS:
            answer.AHEAD = ahead
            there, gone = [documents(asked.example.question) for asked in corpus.asked], left_out(documents, corpus)
            for least in LEAST_FITS:
                given = [best_span(found) if fit(found) >= least else None for found in there]
                row = {"f1": figures(SETS[name][1](right, given))["f1"], "said_though_there": share(map(_none, given))}
                refused = share(fit(found) < least for found in gone)
                rows.append({"ahead": ahead, "least_fit": least, **row, "said_when_left_out": refused})
        answer.AHEAD = usual
        return {"set": name, "part": part, "questions": len(corpus.asked), "tried": rows}


@contextmanager
def opened(
    reading: Reading, reader: str, encoder: str | None, most: int, *, halfway: bool = False
) -> Iterator[tuple[Documents, Corpus]]:
    """The documents of a set for a while, and the questions on them."""
    space = TextSpace(TextVectors(encoder)) if encoder else None
    with tempfile.TemporaryDirectory() as place:
        corpus = laid_out(reading, Path(place) / "documents", most, halfway=halfway)
        index, _ = indexed([Source.of(folder) for folder in corpus.folders], space)
        index.save(Path(place) / "index")
        yield open_documents(Path(place) / "index", AnswerFinder.open(reader)), corpus


def remembered(outputs: Callable[..., Any]) -> Callable[..., Any]:
    """A reader's outputs, each row read once: constants change only what is made of them."""
    known: dict[tuple[int, ...], Any] = {}

    def of(rows: Sequence[Any], **options: Any) -> list[Any]:
        new = {tuple(row.ids): row for row in rows if tuple(row.ids) not in known}
        known.update(zip(new, outputs(list(new.values()), **options), strict=True) if new else ())
        return [known[tuple(row.ids)] for row in rows]

    return of


def fit(found: Found) -> float:
    """How well the best answer's passage fits the question."""
    return found.fits[0] if found.fits else 0.0


def _none(given: str | None) -> bool:
    return given is None


def read_set(name: str, data: Path) -> tuple[str, Reading]:
    """The part that a set is measured on, and its questions; answers that do not stand in their context count too."""
    if name not in SETS:
        raise InputError(f"set {name!r}", wanted=f"one of {', '.join(SETS)}")
    preset = PRESETS[SETS[name][0]]
    files = find_files(preset, data)
    part = next((part for part in PARTS if part in files), None)
    if part is None:
        raise InputError(f"{data} without questions of {name} to measure on", wanted=" or ".join(PARTS))
    return part, read_files(preset, files[part], keep_unfound=True)


def laid_out(reading: Reading, place: Path, most: int, *, halfway: bool = False) -> Corpus:
    """Writes every context as a file, the articles in turn into FOLDS folders; questions are evenly spaced.

    Questions without words, of which CMRC 2018 has two, are asked of nobody.
    """
    articles = [article_of(spot) for spot in reading.places]
    numbers = {article: number for number, article in enumerate(dict.fromkeys(articles))}
    files: dict[str, Path] = {}
    for example, article in zip(reading.examples, articles, strict=True):
        files.setdefault(example.context, place / f"{numbers[article] % FOLDS}" / f"{len(files):05}.txt")
    for context, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(context, encoding="utf-8", newline="")
    sound = [example for example in reading.examples if fault_of_words(example.question) is None]
    apart = -(-len(sound) // most)
    chosen = sound[apart // 2 if halfway else 0 :: apart]
    folders = dict.fromkeys(file.parent for file in files.values())
    return Corpus(tuple(folders), tuple(Asked(example, files[example.context]) for example in chosen))


def article_of(spot: str) -> str:
    """The article of a question, by the place that it has in its file.

    >>> article_of("dev.json data[3].paragraphs[1].qas[0]"), article_of("trial.json [3].qas[0]")
    ('dev.json data[3]', 'trial.json [3]')
    """
    return WITHIN_ARTICLE.sub("", spot)


def answered(documents: Documents, corpus: Corpus, score: Scorer) -> dict[str, Any]:
    """The figures of documents that are asked all questions."""
    right = [asked.right for asked in corpus.asked]
    spent, there = timed(documents, corpus.asked)
    given = [documents.reader(one.example.question, [Passage(one.example.context)]) for one in corpus.asked]
    places = ranks(documents.index, corpus.asked)
    scores = score(right, [found.answer for found in there])
    return {
        "given_the_document": figures(score(right, [found.answer for found in given])),
        "given_the_document_never_refusing": figures(score(right, [*map(best_span, given)])),
        "recall": {f"at_{depth}": share(place < depth for place in places) for depth in DEPTHS},
        "end_to_end": figures(scores),
        "end_to_end_never_refusing": figures(score(right, [*map(best_span, there)])),
        "end_to_end_where_found": figures(scores.part(place < READ for place in places)),
        "not_there": refusals(there, left_out(documents, corpus)),
        "cpu_milliseconds_a_question": {"median": round(float(np.median(spent)), 1), "p90": round(p90(spent), 1)},
    }


def timed(documents: Documents, asked: Sequence[Asked]) -> tuple[list[float], list[Found]]:
    """What each question took of the processor, in milliseconds, and what was found."""
    spent, found = [], []
    for one in asked:
        started = time.process_time()
        found.append(documents(one.example.question))
        spent.append(1000 * (time.process_time() - started))
    return spent, found


def ranks(index: DocumentIndex, asked: Sequence[Asked]) -> list[int]:
    """How many passages are ranked before the first of each question's own document; READ if it is not read."""
    rankings = best_passages(index, [one.example.question for one in asked], READ)
    sources = [[index.passages[place].source for place in ranking] for ranking in rankings]
    return [own.index(str(one.file)) if str(one.file) in own else READ for own, one in zip(sources, asked, strict=True)]


def left_out(documents: Documents, corpus: Corpus) -> list[Found]:
    """What is found for each question in the documents of all other folders."""
    found: dict[int, Found] = {}
    for folder in corpus.folders:
        others = [Source.of(other) for other in corpus.folders if other != folder]
        without, _ = indexed(others, documents.index.space, before=documents.index)
        rest = Documents(without, documents.reader)
        for number, one in enumerate(corpus.asked):
            if one.file.parent == folder:
                found[number] = rest(one.example.question)
    return [found[number] for number in range(len(corpus.asked))]


def refusals(there: Sequence[Found], gone: Sequence[Found]) -> dict[str, Any]:
    """How often nothing is answered with and without the document, and how far each number tells which it was."""
    told: dict[str, Any] = {
        "said_though_there": share(found.answer is None for found in there),
        "said_when_left_out": share(found.answer is None for found in gone),
    }
    for name, number in (("score", surest), ("margin", margin)):
        area = auroc(np.array([*map(number, there)]), np.array([*map(number, gone)]))
        told[f"auroc_of_{name}"] = None if area is None else round(area, 4)
    return told


def best_span(found: Found) -> str | None:
    """What would be answered if nothing were ever refused."""
    return found.answered.nbest[0].answer if found.answered.nbest else None


def surest(found: Found) -> float:
    """The probability of the best span, answered or not."""
    return found.answered.nbest[0].score if found.answered.nbest else 0.0


def margin(found: Found) -> float:
    """How far its logit is above that of no answer."""
    return max(found.answered.margin, LOWEST)


def figures(scores: AnswerScores) -> dict[str, float]:
    """Exact match and F1 with their intervals.

    >>> figures(AnswerScores((1.0, 1.0), (1.0, 1.0)))
    {'questions': 2, 'exact': 1.0, 'exact_plus_minus': 0.0, 'f1': 1.0, 'f1_plus_minus': 0.0}
    """
    told: dict[str, float] = {"questions": len(scores.exact)}
    for name, values in (("exact", scores.exact), ("f1", scores.f1)):
        told[name] = round(float(np.mean(values)), 4) if values else 0.0
        told[f"{name}_plus_minus"] = round(1.96 * float(np.std(values)) / len(values) ** 0.5, 4) if values else 0.0
    return told


def share(said: Any) -> float:
    """The share of true ones.

    >>> share([True, False])
    0.5
    """
    return round(float(np.mean([*said])), 4)


def p90(values: Sequence[float]) -> float:
    """What nine of ten stay below."""
    return float(np.quantile(values, 0.9))


if __name__ == "__main__":
    main()
