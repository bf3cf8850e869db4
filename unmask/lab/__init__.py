"""The paper's experiments and the measurements of this machine, side by side with others."""
