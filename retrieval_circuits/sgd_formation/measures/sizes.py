"""How large the streams of this chapter are."""

SIZES = {
    "n_keys": 6, "n_lags": 10, "n_writes": 12, "n_reads": 10, "n_key_words": 8, "n_value_words": 80, "n_held_out": 10,
    "ood_keys": 7, "ood_lags": 11, "ood_writes": 13, "ood_reads": 9,
}  # fmt: skip
"""Our stream: the smallest found on which no rule pays, with nearly half of what happens being reads."""
