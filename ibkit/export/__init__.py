"""The model as documents for other programs."""
