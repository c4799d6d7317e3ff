"""The source's numbers: Musat (ICLR 2025), figures 5 and 7."""

LAYERS_USED = {3: (4, 4, 4), 4: (5,)}
"""Look-ups of a chain -> the layers with a head that is used, in each network whose circuit the source drew."""
