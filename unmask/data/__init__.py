"""Pieces -> batches: the token store, sentence pairs, masking, and ragged batches. numpy only."""
