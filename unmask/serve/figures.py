"""The server's figures for Prometheus: what happened in, the text of /metrics out."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
EXAMPLES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Figures:
    """All figures of one server, apart from those of any other in the process.

    >>> figures = Figures()
    >>> figures.answered("/v1/fill", 200, 0.02, 3)
    >>> 'unmask_texts_total{path="/v1/fill"} 3.0' in figures.text().decode()
    True
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("unmask_requests", "Requests answered.", ["path", "status"], registry=self.registry)
        self._seconds = Histogram(
            "unmask_request_seconds",
            "From the head of a request to its answer.",
            ["path"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._texts = Counter("unmask_texts", "Texts in answered requests.", ["path"], registry=self.registry)
        self._batches = Histogram(
            "unmask_batch_examples",
            "Examples that went through together.",
            ["model"],
            buckets=EXAMPLES,
            registry=self.registry,
        )
        self._batch_seconds = Histogram(
            "unmask_batch_seconds", "What a batch took.", ["model"], buckets=SECONDS, registry=self.registry
        )
        self._reloads = Counter("unmask_reloads", "Folders that were replaced.", ["outcome"], registry=self.registry)
        self.open = Gauge("unmask_open_requests", "Requests that are being answered.", registry=self.registry)

    def answered(self, path: str, status: int, seconds: float, texts: int) -> None:
        """A request is done."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)
        if texts:
            self._texts.labels(path).inc(texts)

    def batch_done(self, model: str, examples: int, seconds: float) -> None:
        """A model has computed a batch."""
        self._batches.labels(model).observe(examples)
        self._batch_seconds.labels(model).observe(seconds)

    def reloaded(self, outcome: str) -> None:
        """A folder was taken up, or refused."""
        self._reloads.labels(outcome).inc()

    def watch_queues(self, waiting: Callable[[], Iterable[tuple[str, int]]]) -> None:
        """Has each model's queue looked at whenever the figures are asked for."""
        self.registry.register(_Queues(waiting))

    def text(self) -> bytes:
        """What /metrics says."""
        return generate_latest(self.registry)


class _Queues(Collector):
    def __init__(self, waiting: Callable[[], Iterable[tuple[str, int]]]) -> None:
        self._waiting = waiting

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily("unmask_queue_weight", "What waits for a model, in characters.", labels=["model"])
        for model, weight in self._waiting():
            family.add_metric([model], weight)
        yield family
