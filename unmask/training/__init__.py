"""A model that learns: optimisers, schedules, the one loop, checkpoints for exact resume, the journal."""
