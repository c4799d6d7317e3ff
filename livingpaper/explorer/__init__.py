"""Trained decoders inside a page: weights as text, the forward pass in JavaScript, and what readers do with it."""

from livingpaper.explorer.probe import Reading, probe
from livingpaper.explorer.widget import Explorer

__all__ = ["Explorer", "Reading", "probe"]
