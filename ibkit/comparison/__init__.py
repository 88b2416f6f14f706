"""What changed between two views of a fabric or of its hosts: pure functions over the model."""
