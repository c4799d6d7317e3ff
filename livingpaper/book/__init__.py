"""Chapters: what they stand on, how they are executed and how their pages are built."""
