"""Numbers of others: the errors that Sanford et al. (2024) report for trained transformers, by depth and hops.

From the table of errors that comes with "Transformers, parallel computation, and logarithmic depth" (their repository
chsanford/hop-induction-heads): width 128, strings of 100 letters of four, drawn anew, 100,000 steps.
"""

PER_MILLE = {
    (2, 4): (10, 140, 346, 423, 543, 588, 616, 658, 691, 692, 710, 720, 726, 730, 738, 737),
    (3, 4): (3, 8, 48, 150, 277, 359, 422, 456, 523, 574, 596, 644, 673, 672, 690, 706),
    (4, 4): (1, 3, 5, 15, 34, 62, 109, 216, 278, 359, 395, 467, 530, 533, 579, 612),
    (5, 4): (1, 1, 1, 3, 12, 15, 17, 37, 58, 103, 148, 218, 280, 339, 376, 414),
    (6, 4): (0, 0, 1, 2, 3, 3, 7, 6, 7, 10, 11, 12, 21, 27, 35, 62),
    (2, 8): (3, 33, 140, 267, 371, 449, 513, 558, 598, 627, 667, 694, 717, 709, 727, 729),
    (3, 8): (1, 1, 5, 21, 58, 121, 182, 247, 300, 369, 419, 456, 523, 528, 578, 591),
    (4, 8): (0, 0, 0, 1, 3, 4, 7, 15, 31, 57, 98, 139, 209, 231, 303, 334),
    (5, 8): (0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 3, 12, 14, 27),
    (6, 8): (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 1, 2),
}
ERRORS = {network: tuple(wrong / 1000 for wrong in by_hops) for network, by_hops in PER_MILLE.items()}
"""(Layers, heads) -> the share of letters answered wrongly at 1 to 16 hops; a guess is wrong in three of four."""
ALLOWED = 0.05
"""Error up to which a number of hops counts as learnt."""


def most_hops(errors: tuple[float, ...]) -> int:
    """The most hops up to which no number of hops has an error above ``ALLOWED``."""
    wrong = (hops for hops, error in enumerate(errors) if error > ALLOWED)
    return next(wrong, len(errors))


FRONTIER = {layers: most_hops(errors) for (layers, heads), errors in ERRORS.items() if heads == 4}
"""Layers -> the most hops that networks of four heads learnt."""
EXPONENTIAL = "N to the power of a multiple of k queries where k-fold compositions alone are seen"
DOUBLES = "Proved, for a network and a training of their design: layer i makes 2^(i-1) hops"
POLYNOMIAL = "a number polynomial in k and N where easier compositions are seen, too"
