"""The tables behind the figures."""

VIEWS = {}
