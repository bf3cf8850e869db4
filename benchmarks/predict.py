"""Our engines and others' on one model and one text, added to a record: texts a second, or a second of the processor.

    python benchmarks/predict.py "minilm, English" --model minilm --text corpus.txt --threads 2 -o result.json
    python benchmarks/predict.py "base, Chinese" --fresh base --model default --text corpus.txt -o result.json

`--fresh SIZE` takes fresh weights of that size over the model's vocabulary. On a busy machine `--clock processor` with
`--threads 1` counts what a process used in place of what the clock says, and `--sentences`, `--passages` take fewer.
"""

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unmask.lab import bench_predict
from unmask.lab.bench_predict import AGAINST, OURS, Prediction, make_forms, make_texts, measure_prediction
from unmask.model.about import About
from unmask.model.bert import Bert
from unmask.model.config import BertConfig
from unmask.model.folder import open_model, save_model


def fresh_model(size: str, vocabulary_of: str, folder: Path) -> str:
    """A bare encoder of a size with fresh weights: as fast as a trained one."""
    tokenizer = open_model(vocabulary_of).tokenizer
    config = BertConfig.named(size, vocabulary_size=tokenizer.size)
    save_model(folder, config, Bert(config), tokenizer, About())
    return str(folder)


def summary(measured: Prediction, counts: dict[str, int], clock: str) -> dict[str, Any]:
    """Texts a second of every engine, and how many times as fast ours are."""
    fields = measured.to_dict()
    kinds = {}
    for kind, count in counts.items():
        spent = {name: count / seconds for name, seconds in measured.processor[kind].items()}
        rates = spent if clock == "processor" else fields["kinds"][kind]["medians"]
        times = {ours: {name: rates[ours] / rate for name, rate in rates.items() if name not in OURS} for ours in OURS}
        kinds[kind] = {"rates": rates, "times": times if clock == "processor" else fields["kinds"][kind]["ratios"]}
    return {"kinds": kinds, "alike": measured.alike, "missing": measured.missing, "rounds": measured.rounds}


def main() -> None:
    """Measures and adds to the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--fresh", choices=["tiny", "mini", "small", "medium", "base"])
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default=";".join(AGAINST["all"]), help="names with ; between; ours are always run")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--sentences", type=int, default=bench_predict.SENTENCES)
    parser.add_argument("--passages", type=int, default=bench_predict.PASSAGES)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    bench_predict.SENTENCES, bench_predict.PASSAGES = given.sentences, given.passages
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = fresh_model(given.fresh, given.model, folder / "fresh") if given.fresh else given.model
        counts = make_texts(make_forms(model, folder).tokenizer, given.text, folder)
        engines = list(dict.fromkeys([*OURS, *given.engines.split(";")]))
        measured = measure_prediction(folder, engines, rounds=given.rounds, threads=given.threads)
    record = json.loads(given.output.read_text()) if given.output.exists() else {}
    how = {"texts": counts, "threads": given.threads, "clock": given.clock, "runs": given.rounds}
    record[given.name] = how | summary(measured, counts, given.clock)
    given.output.write_text(json.dumps(record, indent=1) + "\n")
    for kind, found in record[given.name]["kinds"].items():
        for name, rate in sorted(found["rates"].items(), key=lambda row: -row[1]):
            print(f"{kind:<14}{name:<28}{rate:9.1f}")


if __name__ == "__main__":
    main()
