"""Batches -> logits: the configuration, the encoder, its heads, and the model folder in the published layout."""
