"""The public data sets that fine-tuning knows by name: a name comes in, what is known of the set goes out."""

from unmask.errors import InputError
from unmask.tasks.preset import Preset
from unmask.tasks.presets_en import ENGLISH, GLUE
from unmask.tasks.presets_zh import CHINESE

__all__ = ["GLUE", "PRESETS", "Preset", "preset_named"]

PRESETS: dict[str, Preset] = ENGLISH | CHINESE


def preset_named(name: str) -> Preset:
    """The preset of a name.

    >>> preset_named("mrpc").metrics[0], preset_named("mrpc").published
    ('f1', {'test': 88.9})
    """
    if name not in PRESETS:
        raise InputError(f"preset '{name}'", wanted=f"one of {', '.join(PRESETS)}")
    return PRESETS[name]
