"""What is trained on chains of four look-ups: every symbol rewarded, or one on the way left out.

The first, the second and the fourth symbol are those that doubling comes by: one look-up, two, four. All have as many
layers as one look-up a layer takes. Pilot networks of a seed that no arm has (0), 8,000 steps each, were looked at:
with every symbol rewarded all four were learnt by step 2,000; without the third, the first by step 2,000, the second
just before the end and the fourth not. So that arm is trained for twice as long, and asked when it learns the second.
"""

from retrieval_circuits.stacked_heads.design.lessons import Lesson

EVERY_FOUR = Lesson(words="every step", n_steps=4, n_layers=5)
WITHOUT_THIRD = Lesson(words="all but the third", n_steps=4, n_layers=5, targets=(1, 2, 4), longer=2)
WITHOUT_FOURTH = Lesson(words="all but the fourth", n_steps=4, n_layers=5, targets=(1, 2, 3))
"""As many symbols as without the third: networks that start alike."""
FOUR = (EVERY_FOUR, WITHOUT_THIRD, WITHOUT_FOURTH)
FRESH_FOUR = Lesson(words="every step, fresh seeds", n_steps=4, n_layers=5)
"""Every symbol rewarded, once more: what the first six networks suggested is tested on these."""
