"""Putting questions to language models: whom, how often, what came back, and how good it was."""
