"""Finding texts: by their words, by their vectors, and by both."""
