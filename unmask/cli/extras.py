"""Which extra brings a module that is not installed, so that a verb without its extra can say so in one line."""

# module: the extra of pyproject.toml that installs it
EXTRAS = {
    "torch": "train",
    "pyarrow": "train",
    "sklearn": "train",
    "scipy": "train",
    "matplotlib": "train",
    "onnx": "train",
    "yaml": "train",
    "fastapi": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "all_minilm_l6_v2": "minilm",
    "gensim": "lab",
    "tensorboard": "lab",
    "pypdf": "documents",
    "jieba": "zh",
    "huggingface_hub": "hub",
    "ray": "ray",
}


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """What to install; none if no extra would bring the module: then the error is ours.

    >>> missing_extra(ModuleNotFoundError("No module named 'torch'", name="torch.nn"))
    "torch is not installed; pip install 'unmask[train]'"
    """
    module = (error.name or "").partition(".")[0]
    return f"{module} is not installed; pip install 'unmask[{EXTRAS[module]}]'" if module in EXTRAS else None
