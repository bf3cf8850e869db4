"""What a doctor says: one thing that was found in a text or a run, how bad it is, the figures, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "hint"]  # the result is worthless; is worse than it could be; may be as meant
ORDER: tuple[Severity, ...] = ("error", "warning", "hint")


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be."""

    name: str
    severity: Severity
    seen: str  # with figures
    do: str


def by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """The worst first, else in the order in which they were found.

    >>> few, dead = Finding("few", "hint", "", ""), Finding("dead", "error", "", "")
    >>> [finding.name for finding in by_severity([few, dead])]
    ['dead', 'few']
    """
    return sorted(findings, key=lambda finding: ORDER.index(finding.severity))


def in_words(findings: Sequence[Finding]) -> str:
    """Findings for people, two lines each.

    >>> print(in_words([Finding("duplicates", "warning", "30 % of the sentences occurred before", "drop them")]))
    warning: duplicates: 30 % of the sentences occurred before
      drop them
    >>> print(in_words([]))
    healthy: nothing was found
    """
    lines = [f"{found.severity}: {found.name}: {found.seen}\n  {found.do}" for found in by_severity(findings)]
    return "\n".join(lines) or "healthy: nothing was found"
