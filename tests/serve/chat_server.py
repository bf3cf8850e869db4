"""A server of the made-up chat alone, for a process of its own: the file of its conversations is the only argument."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from serve.fake_apps import open_fake
from unmask.serve.figures import Figures
from unmask.serve.models import Models
from unmask.serve.server import Settings, serve

if __name__ == "__main__":
    models = Models({"chat": Path("chat")}, open=open_fake)
    models.open()
    settings = Settings(port=0, conversations=sys.argv[1])
    serve(models, settings, Figures(), listening=lambda found: print(json.dumps({"address": found}), file=sys.stderr))
