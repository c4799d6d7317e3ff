"""What claims and figures read off the tables: the steps, the sizes that recall, the larger model taken apart.

*Recall* is the share of probes answered with the y that was shown: a probe keeps four pairs of a held-out permutation
and asks for one of their x again.
"""
