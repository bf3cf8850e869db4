"""Answer files as the public evaluations take them: a preset, its examples and answers come in, files go out.

GLUE takes a tsv of index and prediction for each set, under fixed names; SQuAD and CMRC 2018 a json of question ids and
answers, and for SQuAD 2.0 another of the probabilities that there is none; CLUE json lines of id and label.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from unmask.data.cells import shorten
from unmask.data.examples import ChoiceExample, QuestionExample, TextExample
from unmask.errors import InputError
from unmask.files import write_text
from unmask.tasks.preset import Preset

LEAST_SIMILAR, MOST_SIMILAR = 0.0, 5.0  # the scale of STS-B, which its evaluation enforces
Example = TextExample | QuestionExample | ChoiceExample
Said = str | float | None


def write_submission(
    preset: Preset,
    examples: Sequence[Example],
    answers: Sequence[Said],
    folder: Path,
    *,
    part: str = "test",
    no_answer: Sequence[float] | None = None,
) -> list[Path]:
    """Writes the answer file of a part (and `na_prob.json` if the probabilities of no answer are given); gives paths.

    Answers are labels, values, numbers of endings, or texts, where None is no answer.

    >>> import tempfile
    >>> from unmask.tasks.presets import PRESETS
    >>> folder = Path(tempfile.mkdtemp())
    >>> [file] = write_submission(PRESETS["rte"], [TextExample("a", "b", id="7")], ["entailment"], folder)
    >>> file.name, file.read_text()
    ('RTE.tsv', 'index\\tprediction\\n7\\tentailment\\n')
    >>> [file] = write_submission(PRESETS["tnews"], [TextExample("开学了", id="7")], ["news_edu"], folder)
    >>> file.name, file.read_text()
    ('tnews11_predict.json', '{"id": 7, "label": "108"}\\n')
    """
    if part not in preset.submission:
        has = ", ".join(preset.submission) or "none"
        raise InputError(f"{preset.folder} {part}", wanted=f"a part with an official answer file (here: {has})")
    assert len(examples) == len(answers)
    file = folder / preset.submission[part]
    if preset.task == "answer":
        return _write_texts(file, examples, answers, no_answer)
    numbered = [
        (example.id or str(number), answer)
        for number, (example, answer) in enumerate(zip(examples, answers, strict=True))
    ]
    lines = (_tab_separated if file.suffix == ".tsv" else _json_lines)(preset, numbered)
    write_text(file, "".join(f"{line}\n" for line in lines))
    return [file]


def _write_texts(
    file: Path, examples: Sequence[Example], answers: Sequence[Said], no_answer: Sequence[float] | None
) -> list[Path]:
    """Texts by the ids of their questions."""
    ids = [example.id for example in examples]
    _write_json(file, dict(zip(ids, (str(answer or "") for answer in answers), strict=True)))
    if no_answer is None:
        return [file]
    _write_json(file.with_name("na_prob.json"), dict(zip(ids, map(float, no_answer), strict=True)))
    return [file, file.with_name("na_prob.json")]


def _tab_separated(preset: Preset, numbered: Sequence[tuple[str, Said]]) -> list[str]:
    return ["index\tprediction", *(f"{id}\t{_prediction(preset, answer)}" for id, answer in numbered)]


def _json_lines(preset: Preset, numbered: Sequence[tuple[str, Said]]) -> list[str]:
    """CLUE's lines, in the order of the test file; labels are texts as they stand there, endings numbers from 0."""
    lines = []
    for id, answer in numbered:
        label = answer if preset.task == "choose" else _prediction(preset, answer)
        lines.append(json.dumps({"id": int(id) if id.isdecimal() else id, "label": label}, ensure_ascii=False))
    return lines


def _prediction(preset: Preset, answer: Said) -> str:
    if preset.task == "regress":
        assert isinstance(answer, float | int)
        return f"{min(max(float(answer), LEAST_SIMILAR), MOST_SIMILAR):.3f}"
    if answer not in preset.labels:
        wanted = f"one of {shorten(preset.labels)}"
        raise InputError(f"a model that says {answer!r}", wanted=wanted, do="fine-tune it without --rename")
    return preset.submitted_labels.get(str(answer), str(answer))


def _write_json(path: Path, content: Mapping[str, str | float]) -> None:
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
