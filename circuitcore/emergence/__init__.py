"""From measured curves to births, orders, roles and statistics over seeds: tables in, tables out.

``births.births`` is not repeated here: its name is its module's.
"""

from circuitcore.emergence.births import BirthError, BirthInterval, BirthRule, find_birth, find_births
from circuitcore.emergence.crossings import by_the_end, crossing_times
from circuitcore.emergence.matching import HeadMatch, match_heads
from circuitcore.emergence.order import OrderError, compare, orders
from circuitcore.emergence.powers import powers
from circuitcore.emergence.rises import rises
from circuitcore.emergence.roles import (
    RolesError,
    SubsetScores,
    SufficientSet,
    circuits,
    completeness,
    faithfulness,
    minimality,
    smallest_sufficient_set,
    subset_scores,
)
from circuitcore.emergence.seeds import (
    Interval,
    PermutationTest,
    SeedsError,
    holm,
    mean_interval,
    paired_permutation_test,
    permutation_test,
    seeds_needed,
    share_interval,
    what_n_can_show,
)
from circuitcore.emergence.waits import shortest_wait

__all__ = [
    "BirthError",
    "BirthInterval",
    "BirthRule",
    "HeadMatch",
    "Interval",
    "OrderError",
    "PermutationTest",
    "RolesError",
    "SeedsError",
    "SubsetScores",
    "SufficientSet",
    "by_the_end",
    "circuits",
    "compare",
    "completeness",
    "crossing_times",
    "faithfulness",
    "find_birth",
    "find_births",
    "holm",
    "match_heads",
    "mean_interval",
    "minimality",
    "orders",
    "paired_permutation_test",
    "permutation_test",
    "powers",
    "rises",
    "seeds_needed",
    "share_interval",
    "shortest_wait",
    "smallest_sufficient_set",
    "subset_scores",
    "what_n_can_show",
]
