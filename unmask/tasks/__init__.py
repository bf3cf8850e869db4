"""One file a task: what its examples, batch, head, loss and score are."""
