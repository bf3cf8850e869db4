"""Answer files as the public evaluations take them: a preset, its examples and answers come in, files go out.

GLUE takes a tsv of index and prediction for each set, under fixed names; SQuAD a json of question ids and answers, and
for 2.0 another of the probabilities that there is none.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from unmask.data.examples import QuestionExample, TextExample
from unmask.errors import InputError
from unmask.files import write_text
from unmask.tasks.preset import Preset

LEAST_SIMILAR, MOST_SIMILAR = 0.0, 5.0  # the scale of STS-B, which its evaluation enforces


def write_submission(
    preset: Preset,
    examples: Sequence[TextExample | QuestionExample],
    answers: Sequence[str | float | None],
    folder: Path,
    *,
    part: str = "test",
    no_answer: Sequence[float] | None = None,
) -> list[Path]:
    """Writes the answer file of a part (and `na_prob.json` if the probabilities of no answer are given); gives paths.

    Answers are labels, values, or texts, where None is no answer.

    >>> import tempfile
    >>> from unmask.tasks.presets import PRESETS
    >>> folder = Path(tempfile.mkdtemp())
    >>> [file] = write_submission(PRESETS["rte"], [TextExample("a", "b", id="7")], ["entailment"], folder)
    >>> file.name, file.read_text()
    ('RTE.tsv', 'index\\tprediction\\n7\\tentailment\\n')
    """
    if part not in preset.submission:
        has = ", ".join(preset.submission) or "none"
        raise InputError(f"{preset.folder} {part}", wanted=f"a part with an official answer file (here: {has})")
    assert len(examples) == len(answers)
    file = folder / preset.submission[part]
    if preset.task == "answer":
        ids = [example.id for example in examples]
        _write_json(file, dict(zip(ids, (answer or "" for answer in answers), strict=True)))
        if no_answer is None:
            return [file]
        _write_json(folder / "na_prob.json", dict(zip(ids, map(float, no_answer), strict=True)))
        return [file, folder / "na_prob.json"]
    numbered = enumerate(zip(examples, answers, strict=True))
    lines = [f"{example.id or number}\t{_prediction(preset, answer)}\n" for number, (example, answer) in numbered]
    write_text(file, "index\tprediction\n" + "".join(lines))
    return [file]


def _prediction(preset: Preset, answer: str | float | None) -> str:
    if preset.task == "regress":
        assert isinstance(answer, float | int)
        return f"{min(max(float(answer), LEAST_SIMILAR), MOST_SIMILAR):.3f}"
    assert answer in preset.labels, f"{answer!r} is no label of {preset.folder}"
    return str(answer)


def _write_json(path: Path, content: Mapping[str, str | float]) -> None:
    write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
