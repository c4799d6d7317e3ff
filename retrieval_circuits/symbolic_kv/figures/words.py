"""Words that the chapter's figures share."""

SPLITS = {"train": "train", "val": "val", "test": "test", "ood": "four pairs"}
ROWS_SWEPT = "test prompts, each asked for all three keys"
