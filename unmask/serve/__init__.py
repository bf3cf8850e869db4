"""To the world: models over HTTP. Requests of many clients become batches, and each gets its own answers back."""
