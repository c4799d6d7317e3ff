"""Measurements: pure functions over tensors, and the battery that turns a run into a table."""
