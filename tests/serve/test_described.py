"""The description at /openapi.json, put to the test by schemathesis: no request whatever is a fault of the server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from unmask.serve.models import Models

from .browser import listening
from .fake_apps import FAKES, open_fake

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def described(folders: dict[str, Path]) -> Iterator[Any]:
    with listening(Models(folders | {name: Path(name) for name in FAKES}, open=open_fake)) as address:
        yield schemathesis.openapi.from_url(f"{address}openapi.json")


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_nothing_that_can_be_sent_is_a_fault_of_the_server(described: Any, mode: schemathesis.GenerationMode) -> None:
    asked = set()
    for found in described.get_all_operations():
        operation = found.ok()
        if mode is schemathesis.GenerationMode.NEGATIVE and not operation.body:
            continue  # nothing about it can be wrong
        asked.add(f"{operation.method.upper()} {operation.path}")

        @settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        ask()
    assert {"POST /v1/fill", "POST /v1/classify", "POST /v1/faq", "POST /v1/chat", "POST /v1/explain"} <= asked
