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
COALITION = (484, 316, 224)
"""Of 1,024 neurons those at which training pulls its two candidates up, pulls both down, and pulls them apart."""
COALITION_COSINE = 0.738406
"""Between the gradients of its two candidates on these neurons, a mean over steps 1,750 to 2,500."""
FAMILY_STEPS = (250, 1_500, 5_500, 16_000)
FAMILY_GAPS = {
    3: ((0.0304, 0.0965), (0.0274, 0.2702), (-0.7128, -0.2883), (0.4217, 0.0626)),
    7: ((0.0, 0.0), (0.0, 0.0), (0.3419, 0.3452), (0.2119, 0.1963)),
    11: ((-0.3607, 0.1336), (-0.6084, 0.2722), (-0.6438, -0.2269), (0.3461, 0.0944)),
    25: ((-0.0769, 0.4754), (-0.23, 0.7535), (0.1516, 0.0572), (0.6868, 0.2943)),
    28: ((0.2154, 0.3217), (-0.0898, 0.6369), (0.2377, -0.0136), (0.6518, -0.0559)),
    29: ((0.0, 0.0), (-0.0014, -0.0018), (0.1066, 0.1271), (0.4788, 0.1921)),
    34: ((0.0, 0.0), (0.0, 0.0), (0.0914, 0.1042), (0.2837, 0.1666)),
    38: ((0.0, 0.0), (0.0, 0.0), (0.0906, 0.1378), (0.188, 0.2125)),
}  # fmt: skip
"""Number of each family in its figure -> its gaps at these steps, between reads answered right and others and between
held-out pairs and others, read off it to half a percent of the axis."""
FIRST_OF_ONE = 8
"""It numbers families by size; from this number on they have one feature."""
N_FAMILIES = 43
PROBE_ACCURACY = 0.777
"""Share of the 677 reads of its probe set answered right at step 16,000."""
PROBE_STEPS = tuple(range(250, 16_001, 250))
"""Its checkpoints. The three curves below are read off its figure, to half a percent of the axis."""
PROBE_CURVE = (
    0.0089, 0.0074, 0.0118, 0.0089, 0.0089, 0.0236, 0.3264, 0.3708, 0.3693, 0.3648, 0.387, 0.3973, 0.418,
    0.4431, 0.6307, 0.6558, 0.6617, 0.6854, 0.709, 0.7253, 0.74, 0.7637, 0.7592, 0.777, 0.7829, 0.7962,
    0.7888, 0.7903, 0.7947, 0.8065, 0.7903, 0.7962, 0.8006, 0.8006, 0.7873, 0.7991, 0.8021, 0.7932, 0.7917,
    0.7932, 0.7917, 0.7932, 0.7962, 0.7932, 0.7962, 0.7814, 0.7873, 0.7947, 0.7814, 0.7784, 0.7784, 0.7829,
    0.7903, 0.7858, 0.7873, 0.7947, 0.7873, 0.7799, 0.7858, 0.7873, 0.7888, 0.7755, 0.7829, 0.777,
)  # fmt: skip
"""At each checkpoint, share of all reads of the probe set answered right."""
SOURCE_RISES = {"all reads": "1,500 to 2,000", "held-out pairs": "4,250 to 4,750"}
"""Its windows about the largest rise of either; a third, 7,500 to 8,000, is of attention from reads to themselves."""
HELD_OUT_CURVE = (
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0784, 0.1176, 0.1111, 0.1046, 0.1438, 0.2092, 0.1895, 0.2092, 0.3007,
    0.3268, 0.3268, 0.4379, 0.4771, 0.5098, 0.5752, 0.6667, 0.6797, 0.7255, 0.7647, 0.8105, 0.7974, 0.8105,
    0.8562, 0.8627, 0.8497, 0.8562, 0.8954, 0.8758, 0.8562, 0.8889, 0.8954, 0.8693, 0.8824, 0.8758, 0.8824,
    0.8824, 0.8954, 0.8889, 0.8889, 0.8758, 0.8824, 0.9085, 0.8758, 0.8758, 0.8758, 0.8693, 0.8889, 0.8954,
    0.8889, 0.9085, 0.9085, 0.8954, 0.8889, 0.902, 0.8889, 0.8889, 0.902, 0.8889,
)  # fmt: skip
"""The same of its 153 reads of held-out pairs."""
SUPPORT_CURVE = (
    0.0414, 0.0399, 0.0502, 0.0622, 0.1035, 0.3163, 0.5042, 0.5392, 0.5534, 0.5544, 0.5438, 0.5629, 0.5736,
    0.5855, 0.7129, 0.7293, 0.7397, 0.7595, 0.7845, 0.7973, 0.8139, 0.8174, 0.8161, 0.836, 0.8336, 0.842,
    0.8403, 0.8491, 0.8462, 0.8484, 0.8499, 0.8485, 0.8496, 0.8546, 0.8502, 0.8526, 0.8613, 0.8583, 0.8569,
    0.8599, 0.8589, 0.8592, 0.8603, 0.8622, 0.8595, 0.8624, 0.8621, 0.8646, 0.8619, 0.8606, 0.861, 0.8604,
    0.8601, 0.858, 0.8629, 0.8615, 0.8611, 0.8621, 0.866, 0.8636, 0.8648, 0.8619, 0.8648, 0.8648,
)  # fmt: skip
"""Attention to the value asked for, of whichever head has most, read by read."""
