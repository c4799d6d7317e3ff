"""Tasks, models and metrics behind *How retrieval circuits emerge in small transformers*."""

__version__ = "0.56.0"
