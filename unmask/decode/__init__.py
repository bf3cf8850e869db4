"""Numbers -> answers: what scores mean, in labels, spans and words. numpy only, shared by training and the torch-free runtime."""
