"""The source's numbers: nelson960, "From Retrieval Motifs To SGD Circuit Selection" (draft of April 2026)."""

ACCURACY = {
    "validation_iid": 0.95785, "test_iid": 0.95782, "heldout_pairs": 0.87302, "structural_ood": 0.50816,
    "counterfactual": 0.95992,
}  # fmt: skip
"""Split -> share of reads answered right by the checkpoint it selected (step 13,000)."""
TRAINING_LOSS = 1.166
"""Nats a token on the rows trained on, as traced at step 5,500."""
REMOVED = {"L0MLP": 0.733, "L2H1": 0.502, "L1MLP": 0.269, "L1H2": 0.204, "L0H0": 0.047}
"""Part -> accuracy that zeroing it costs on the probe set at step 16,000."""
