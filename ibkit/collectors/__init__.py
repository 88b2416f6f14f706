"""A source's bytes made into the model."""
