"""The names of the engines, for whoever cannot wait for torch; ``circuitcore.training.engines`` has the engines."""

ENGINE_NAMES = ("torch", "native", "stacked")
