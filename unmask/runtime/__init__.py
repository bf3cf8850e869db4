"""Answers without torch: exported models on onnxruntime, batches of like length, results in the order of the input."""
