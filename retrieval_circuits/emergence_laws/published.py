"""Laws of how long a network waits before it can recall, as their authors state them.

Musat et al. (2025): proved for a simplified model, steps grow as the square of the context's length. Aoyama et al.
(2025): fitted to language models, tokens = T sqrt(batch x context), so that steps fall as the square root of each.
Zucchet et al. (2025): the wait is a power of length and dimension (which powers is not
tested here), and repeated rows shorten it. Liu (2026): a width that is just right learns, narrower and wider
ones do not. Baherwani et al. (2026): the wait is random over seeds, more heads shorten it, more channels a head hardly
do, past a smallest number.
"""

SQUARE = 2.0
"""Exponent of steps in the context's length."""
ROOT = -0.5
"""Exponent of steps in rows a batch, and in the context's length, by the law in tokens."""

PUBLISHED = {
    "context": f"{SQUARE:g} (a bound), or {ROOT:g} (language models)",
    "batch": f"{ROOT:g} (language models)",
    "heads": "negative (heads shorten the wait)",
    "d_head": "about 0 past a smallest number (channels hardly do)",
    "times": "negative (asked words told again)",
}
"""Axis -> the power that its source says or shows, for the appendix."""
