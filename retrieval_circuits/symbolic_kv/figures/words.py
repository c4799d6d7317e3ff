"""Words and levels that the chapter's figures share."""

from retrieval_circuits.bounds import IN_CONTEXT

SPLITS = {"train": "train", "val": "val", "test": "test", "ood": "four pairs"}
AMONG_ALL = 1 / 8
GUESSES = {"a guess among all values": AMONG_ALL, "a guess among the prompt's": IN_CONTEXT}
"""Level -> what guesses right so often; the task has eight values, and as many keys."""
ROWS_SWEPT = "test prompts, each asked for all three keys"
