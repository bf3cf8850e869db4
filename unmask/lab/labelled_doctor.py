"""What is wrong with labelled examples: their figures come in, findings go out, each with what to do."""

from collections.abc import Iterator

from unmask.data.overview import Overview, PartFigures
from unmask.lab.finding import Finding, Severity

MANY_LEAKED = 0.01  # of dev
MANY_REPEATED = 0.05  # of train
FEWEST = 10  # examples of a label to learn from
UNEVEN = 20  # times as many examples of the commonest label as of the rarest


def diagnose_labelled(found: Overview) -> Iterator[Finding]:
    """What is not as it should be."""
    yield from _leakage(found)
    yield from _repeats(found.train)
    yield from _labels(found)


def _leakage(found: Overview) -> Iterator[Finding]:
    if found.dev is None or not found.nearly_leaked:
        return
    share = found.nearly_leaked / found.dev.examples
    yield Finding(
        "leakage",
        "warning" if share >= MANY_LEAKED else "hint",
        f"{found.nearly_leaked:,} of {found.dev.examples:,} dev examples ({share:.1%}) are in train, {found.leaked:,} "
        "exactly, the others but for case, blanks and marks",
        "take them out of train: the score on them says only what was learned by heart",
    )


def _repeats(train: PartFigures) -> Iterator[Finding]:
    if train.nearly_repeated > MANY_REPEATED * train.examples:
        share = train.nearly_repeated / train.examples
        seen = f"{train.nearly_repeated:,} train examples ({share:.1%}) occurred before, {train.repeated:,} exactly"
        yield Finding("repeats", "hint", seen, "drop them, or split so that copies stay on one side")
    if train.contradicted:
        seen = f"{train.contradicted:,} train examples have the text of another one with another label"
        severity: Severity = "warning" if train.contradicted > MANY_LEAKED * train.examples else "hint"
        yield Finding("contradictions", severity, seen, "look at them and decide, or leave them out")


def _labels(found: Overview) -> Iterator[Finding]:
    counts = found.train.labels
    rare = [label for label, count in counts.items() if count < FEWEST]
    if rare:
        named = ", ".join(rare[:5]) + (" …" if len(rare) > 5 else "")
        yield Finding("rare labels", "hint", f"fewer than {FEWEST} examples of {named}", "collect more, or join labels")
    if counts and max(counts.values()) > UNEVEN * min(counts.values()):
        seen = (
            f"{max(counts.values()):,} examples of {next(iter(counts))}, {min(counts.values()):,} of the rarest label"
        )
        yield Finding("uneven labels", "hint", seen, "fine-tune with --class-weights, and look at macro F1")
    new = sorted(set(found.dev.labels) - set(counts)) if found.dev is not None and counts else []
    if new:
        seen = f"dev has labels that train lacks: {', '.join(new[:5])}"
        yield Finding("unseen labels", "error", seen, "check both files, or map the names with --rename in finetune")
