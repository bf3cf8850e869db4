"""unmask: BERT, end to end, on the machine you have."""
