"""The machinery of a living paper: claims, figures, explorers, the book and its commands. It knows no study."""

PAPERS = "livingpaper.studies"
"""The group of entry points by which papers say that they are installed."""
