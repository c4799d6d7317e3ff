"""Numbers of others: the hops that Sanford et al. (2024) report for trained transformers, by depth.

From the table of errors that comes with "Transformers, parallel computation, and logarithmic depth" (their repository
chsanford/hop-induction-heads): 4 heads, width 128, strings of 100 letters drawn anew, 100,000 steps.
"""

FRONTIER = {2: 1, 3: 3, 4: 5, 5: 8, 6: 15}
"""Layers -> the most hops up to which no number of hops has an error above 5 %."""
EXPONENTIAL = "N to the power of a multiple of k queries where k-fold compositions alone are seen"
POLYNOMIAL = "a number polynomial in k and N where easier compositions are seen, too"
