"""Runs on disk: files that are whole or absent, checked when they are read, listed where they are published."""
