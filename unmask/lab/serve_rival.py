"""The server that people write first: FastAPI around a transformers pipeline, a text a request.

    python -m unmask.lab.serve_rival FOLDER THREADS

It says its port on standard output and answers POST /v1/classify until it is stopped.
"""

import json
import socket
import sys
from typing import Any


def make_app(folder: str) -> Any:
    """As their documentation has it; an endpoint that is no coroutine runs on one of many threads."""
    from fastapi import FastAPI
    from pydantic import BaseModel
    from transformers import pipeline

    class Body(BaseModel):
        text: str

    app = FastAPI()
    classify = pipeline("text-classification", model=folder, device="cpu", top_k=None)

    def answer(body: Body) -> Any:
        return classify(body.text, truncation=True, max_length=512)

    answer.__annotations__ = {"body": Body}
    app.post("/v1/classify")(answer)
    return app


def main() -> None:
    """Serves until it is stopped."""
    import torch
    import uvicorn

    folder, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    app = make_app(folder)
    place = socket.socket(proto=socket.IPPROTO_TCP)  # as uvicorn makes it from a host and a port
    place.bind(("127.0.0.1", 0))
    place.listen(1024)
    print(json.dumps({"port": place.getsockname()[1]}), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[place])


if __name__ == "__main__":
    main()
