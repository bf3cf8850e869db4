"""What layers know, for people: probe reports and layers' words in, a picture file or the pieces of a page out."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from unmask.errors import InputError
from unmask.explain.layer_words import LayerWords
from unmask.explain.probing import ProbeReport
from unmask.files import atomic_path
from unmask.tasks.drawings import Field, picture

QUESTIONS = {
    "pos": "Which part of speech is this word?",
    "entity": "Is this word part of a name, and of which kind?",
    "length": "How long is this sentence?",
    "word": "Which word is this?",
}


def report_as_html(report: ProbeReport) -> str:
    """A report as a picture and a table."""
    lines = "".join(
        f"<tr><th>layer {row.layer}</th><td>{row.accuracy:.3f}</td><td>{row.macro_f1:.3f}</td>"
        f"<td>{_shown(row.control)}</td><td>{_shown(row.selectivity)}</td></tr>"
        for row in report.rows
    )
    head = "<tr><th></th><th>accuracy</th><th>macro F1</th><th>control</th><th>selectivity</th></tr>"
    return (
        f"<h2>{escape(QUESTIONS[report.asked])}</h2>"
        f"<p class='note'>A linear probe on each layer's states; {report.classes} classes, {report.learned:,} labels "
        f"learned, {report.measured:,} measured. Dashed: the control task, labels by chance for every word type; "
        f"grey: always the commonest label, {report.majority:.3f}.</p>"
        f"{curves(report)}<table>{head}{lines}</table>"
    )


def curves(report: ProbeReport) -> str:
    """Accuracy and control accuracy over the layers, as SVG."""
    found = {"first": [(row.layer, row.accuracy) for row in report.rows]}
    controls = [(row.layer, row.control) for row in report.rows if row.control is not None]
    found |= {"second": controls} if controls else {}
    field = Field((0, max(len(report.rows) - 1, 1)), (0.0, 1.0))
    left, right, y = field.x(0), field.x(field.across[1]), field.y(report.majority)
    drawn = field.axes("layer", "accuracy") + f'<line class="ideal" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
    for kind, points in found.items():
        places = " ".join(f"{field.x(layer)},{field.y(value)}" for layer, value in points)
        drawn += f'<polyline class="line {kind}" points="{places}"/>'
        drawn += "".join(
            f'<circle class="dot {kind}" cx="{field.x(layer)}" cy="{field.y(value)}" r="4">'
            f"<title>layer {layer}: {value:.3f}</title></circle>"
            for layer, value in points
        )
    return picture(drawn, f"accuracy of {report.asked} by layer")


def words_as_html(found: Sequence[LayerWords]) -> str:
    """What layers would put at each mask, as tables."""
    pieces = ["<h2>What would each layer say?</h2>"]
    for one in found:
        before, after = escape(one.text[: one.start]), escape(one.text[one.end :])
        lines = "".join(
            f"<tr><th>layer {row.layer}</th><td class='text'>"
            + ", ".join(f"{escape(token)} {probability:.2f}" for token, probability in row.candidates)
            + f"</td><td>{row.rank:,}</td></tr>"
            for row in one.rows
        )
        head = f"<tr><th></th><th class='text'>the likeliest words</th><th>rank of “{escape(one.answer)}”</th></tr>"
        pieces.append(f"<p>{before}<ins>{escape(one.answer)}</ins>{after}</p><table>{head}{lines}</table>")
    return "".join(pieces)


def draw_probes(reports: Sequence[ProbeReport], path: Path, *, title: str) -> None:
    """Accuracy and control accuracy of all reports over the layers, as PNG (or whatever the file's ending says)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    ending = path.suffix.removeprefix(".")
    if ending not in FigureCanvasAgg.get_supported_filetypes():
        raise InputError(f"picture {path.name}", wanted="a file ending in .png, .svg or .pdf")
    axes = figure.subplots()
    for number, report in enumerate(reports):
        layers, colour = [row.layer for row in report.rows], f"C{number}"
        axes.plot(layers, [row.accuracy for row in report.rows], marker="o", color=colour, label=report.asked)
        controls = [row.control for row in report.rows if row.control is not None]
        if controls:
            axes.plot(layers, controls, linestyle="--", color=colour, label=f"{report.asked}, control task")
    axes.set(xlabel="layer", ylabel="accuracy", ylim=(0, 1.02), title=title)
    axes.set_xticks([row.layer for row in reports[0].rows])
    axes.grid(alpha=0.3)
    axes.legend()
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format=ending, dpi=120)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
