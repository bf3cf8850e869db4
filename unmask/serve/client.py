"""A client in two lines, with Python's own library alone: texts in, the answers of an `unmask serve` out.

client = unmask.Client("http://127.0.0.1:8000")
client.classify("I would see it again.")
"""

import json
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote, urlsplit

from unmask.errors import InputError

PATIENT = (429, 503)  # statuses after which the same request may well be answered


class ServerError(Exception):
    """A server that did not answer as asked."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(f"{message} (status {status})" if status else message)


class Client:
    """Asks a server. For a text comes its answer, for a list of texts a list of answers.

    >>> Client("http://127.0.0.1:8000/").address
    'http://127.0.0.1:8000'
    """

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 60.0) -> None:
        if urlsplit(address).scheme not in ("http", "https"):
            raise InputError(f"address {address!r}", wanted="one that begins with http:// or https://")
        self.address, self.token, self.timeout = address.rstrip("/"), token, timeout

    def fill(self, text: str | list[str], *, top: int | None = None, model: str | None = None) -> Any:
        """The likeliest words for each [MASK]."""
        return _answers(self._post("/v1/fill", text=text, top=top, model=model))

    def classify(
        self,
        text: str | list[str],
        *,
        pair: str | list[str] | None = None,
        threshold: float | None = None,
        words: bool | None = None,
        neutral_below: float | None = None,
        model: str | None = None,
    ) -> Any:
        """The class, classes or value of texts, or of pairs of texts; none below a threshold, and why on request.

        `neutral_below` is for labels that are two sides of a feeling: `sentiment` is neutral where both are lower.
        """
        asked = {"text": text, "pair": pair, "threshold": threshold, "words": words, "neutral_below": neutral_below}
        return _answers(self._post("/v1/classify", model=model, **asked))

    def tag(self, text: str | list[str], *, model: str | None = None) -> Any:
        """The entities of texts."""
        return _answers(self._post("/v1/tag", text=text, model=model))

    def answer(self, question: str, context: str | None = None, *, model: str | None = None) -> dict[str, Any]:
        """The answer to a question in a text, or without one in the documents that the server has."""
        return self._post("/v1/answer", question=question, context=context, model=model)

    def faq(self, question: str | list[str], *, model: str | None = None) -> Any:
        """The answer of the frequent question that means the same."""
        return _answers(self._post("/v1/faq", question=question, model=model))

    def chat(self, text: str, *, conversation: str | None = None, model: str | None = None) -> dict[str, Any]:
        """The reply in a conversation; the answer's `conversation` goes on with it."""
        return self._post("/v1/chat", text=text, conversation=conversation, model=model)

    def turns(self, conversation: str) -> list[dict[str, Any]]:
        """All that was said in a conversation."""
        found: list[dict[str, Any]] = self._send(self._request(f"/v1/chat/{quote(conversation, safe='')}"))["turns"]
        return found

    def forget(self, conversation: str) -> None:
        """Deletes a conversation."""
        self._send(self._request(f"/v1/chat/{quote(conversation, safe='')}", method="DELETE"))

    def explain(
        self,
        text: str,
        *,
        pair: str | None = None,
        target: str | None = None,
        method: str | None = None,
        model: str | None = None,
    ) -> dict[str, Any]:
        """Which words decided an answer."""
        return self._post("/v1/explain", text=text, pair=pair, target=target, method=method, model=model)

    def embed(self, text: str | list[str], *, model: str | None = None) -> Any:
        """The vector of a text, or those of a list of texts."""
        data = self._post("/v1/embeddings", input=text, model=model)["data"]
        vectors = [row["embedding"] for row in data]
        return vectors[0] if isinstance(text, str) else vectors

    def models(self) -> list[dict[str, Any]]:
        """The server's models and what can be asked of them."""
        found: list[dict[str, Any]] = self._send(self._request("/v1/models"))["data"]
        return found

    def _post(self, path: str, **fields: Any) -> dict[str, Any]:
        body = {name: value for name, value in fields.items() if value is not None}
        return self._send(self._request(path, json.dumps(body).encode()))

    def _request(self, path: str, body: bytes | None = None, method: str | None = None) -> urllib.request.Request:
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {self.token}"} if self.token else {}
        )
        return urllib.request.Request(self.address + path, data=body, headers=headers, method=method)

    def _send(self, request: urllib.request.Request) -> dict[str, Any]:
        """The answer; a server that is busy is asked again when it says so, as long as time is left."""
        until = time.monotonic() + self.timeout
        while True:
            try:
                with urllib.request.urlopen(request, timeout=max(0.1, until - time.monotonic())) as response:
                    told: dict[str, Any] = json.loads(response.read() or b"{}")
                    return told
            except urllib.error.HTTPError as error:
                wait = int(error.headers.get("Retry-After") or 1)
                fault = ServerError(error.code, _message(error))
                if error.code not in PATIENT or time.monotonic() + wait > until:
                    raise fault from None
                time.sleep(wait)
            except (urllib.error.URLError, TimeoutError) as error:
                reason = getattr(error, "reason", error)
                raise ServerError(0, f"no answer from {self.address}: {reason}") from None


def _answers(told: dict[str, Any]) -> Any:
    return told.get("answers", told)


def _message(error: urllib.error.HTTPError) -> str:
    """The server's own words, or what HTTP calls it."""
    with error:
        try:
            message: str = json.loads(error.read())["error"]["message"]
            return message
        except (ValueError, KeyError, TypeError):
            return str(error.reason)
