"""Numbers -> answers: what scores mean, in labels, spans and words. numpy only, so that answering needs no torch."""
