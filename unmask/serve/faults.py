"""What went wrong -> an answer in words: exceptions in, a status with `{"error": {…}}` out, and never a traceback."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unmask.apps.conversations import UnknownConversation
from unmask.errors import InputError
from unmask.serve.batcher import Closed, DeadlinePassed, QueueFull
from unmask.serve.models import UnknownModel

MISMATCHES = ("string_type", "list_type", "none_required")  # of the other shapes that a field might have had


@dataclass(frozen=True)
class Trouble:
    """An answer that is none."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The body, in the form that OpenAI's clients read.

        >>> Trouble(404, "got model 'x'").to_dict()["error"]["type"]
        'invalid_request_error'
        """
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


def trouble_of(error: Exception) -> Trouble:
    """The answer to a request that ended with an exception; one that nobody foresaw is not told to the outside.

    >>> trouble_of(QueueFull(3)).headers, trouble_of(ZeroDivisionError("secret")).message
    ({'Retry-After': '3'}, 'something went wrong in the server; its log says what')
    """
    if isinstance(error, QueueFull):
        return Trouble(429, str(error), code="queue_full", headers={"Retry-After": str(error.retry_after)})
    if isinstance(error, DeadlinePassed):
        return Trouble(504, f"the request was {error}; ask for less at once, or later", code="timeout")
    if isinstance(error, Closed):
        return Trouble(503, "the server is stopping", code="stopping", headers={"Retry-After": "1"})
    if isinstance(error, UnknownModel):
        return Trouble(404, str(error), param="model", code="model_not_found")
    if isinstance(error, UnknownConversation):
        return Trouble(404, str(error), param="conversation", code="conversation_not_found")
    if isinstance(error, InputError):
        return Trouble(422, str(error))
    return Trouble(500, "something went wrong in the server; its log says what", code="failure")


def invalid(errors: Sequence[Mapping[str, Any]]) -> Trouble:
    """What is wrong with a body, by the complaints of pydantic: the one that says most, and where.

    >>> invalid([{"type": "missing", "loc": ("body", "text"), "msg": "Field required"}]).message
    'text: Field required'
    """
    telling = [error for error in errors if error["type"] not in MISMATCHES] or list(errors)
    first = telling[0]
    if first["type"] == "json_invalid":
        return Trouble(400, f"the body is no JSON: {first.get('ctx', {}).get('error', 'it ends too early')}")
    place = [part for part in first["loc"][1:] if isinstance(part, int) or part.isidentifier()]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
    words = first["msg"].removeprefix("Value error, ")
    return Trouble(422, f"{where or 'the body'}: {words}", param=where or None)
