"""Why did it say that? Which words decided, how far that explanation can be trusted, and what each head looks at."""
