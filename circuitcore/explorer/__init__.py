"""Trained decoders inside a page: weights as text, the forward pass in JavaScript, and what readers do with it."""

from circuitcore.explorer.probe import Reading, probe

__all__ = ["Reading", "probe"]
