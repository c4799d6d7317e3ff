"""The arms, by name, and where forks leave their networks."""

N_FORKS = 8
LAYER, HEADS = 0, (0, 1, 2, 3)
"""Where the heads compete: in each of the ten networks one of the first layer joins most values to their keys."""
NETWORKS, PARENT, REPLAY = "ten networks", "the parent", "nothing changed"
ORDERS = tuple(f"another order, point {number}" for number in range(1, N_FORKS + 1))
"""The arms of forks that differ from the parent in their data alone, by how late they leave it."""
ACT = 3
"""Which of the points (from 0) the other arms leave from: four hundred steps before the parent's transition."""
EARLY = 1
"""The point before it from which heads are changed, too: other orders from there on can still give another winner."""
TRACED = ORDERS[5]
"""Forks whose updates are taken apart: they begin two hundred steps before the parent's transition."""
N_TRACED, N_LAGS = 300, 20
"""Updates that are taken apart, through the transition, and how far back gradients are followed."""
BOOSTED = tuple(f"head {head} boosted" for head in HEADS)
HELD = tuple(f"head {head} held at zero" for head in HEADS)
BOOSTED_EARLY, HELD_EARLY = (tuple(f"{arm}, from point {EARLY + 1}" for arm in arms) for arms in (BOOSTED, HELD))
DAMPED = tuple(f"head {head} damped" for head in HEADS)
FROZEN = "queries and keys frozen"
FROZEN_EARLY = f"{FROZEN}, from point {EARLY + 1}"
NEVER_LOOSE, NEVER_LOOSE_WIDE = f"{FROZEN} from the start", f"{FROZEN} from the start, drawn as the source draws"
"""Networks that never had them move; in the second all weights are drawn as the source's are, which are larger."""
GIVEN = "a head looks one word back from the start"
GIVEN_TWO = "a head looks two words back from the start"
TOLD = HEADS[0]
PARTS = {GIVEN: 0.5, GIVEN_TWO: 0.8}
"""Networks in which this head of the first layer is told where to look; in the first arm from values to their keys.

It wins in none of the free networks of the same seeds, which was known. They train for these parts of the steps: torch,
which alone can tell a head where to look, takes seven times as long as our own engine.
"""
DESCENT = "trained by SGD"
SLOWER = 3
"""How many times Adam's steps such networks have; their checkpoints are so many times as far apart.

A pilot, the network that the rate was chosen on, learnt to read by step 6,500, where Adam's do between 1,600 and
4,300.
"""
RATED = "SGD at every rate"
RATES, MOMENTA = (0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 10.0), (0.0, 0.9)
TUNED = (0.3, 0.9)
"""Networks of one start, and rate and momentum of the one with the lowest loss, by which ``DESCENT`` is trained."""
DRAWN_FORK = "the fork that is drawn"
"""The first order from the first point, whose last weights are shipped. Who wins it was known when it was chosen."""
OWN_HEADS = ("the parent, its own heads", "the fork, its own heads")
OTHERS_HEADS = ("the parent, the fork's heads", "the fork, the parent's heads")
"""The arms of forks of the parent and of the drawn fork; in the second the heads of the first layer change places.

Who wins the drawn fork was known when it was chosen for that, as its winner is another than the parent's.
"""
ELSEWHERE = tuple(f"other networks, point {number}" for number in (1, 2))
"""The arms of forks of all networks but the parent, by how late they leave them."""
LARGE = "the source's network"
"""Of SGD formation, on our stream: that which learns the look-up first. It is twice as wide as the others."""
WIDER = 2
LARGE_PARENT = f"{LARGE}, nothing changed"
"""Its fork that changes nothing, from the later point: the parent once more, as far as forks go."""
LARGE_FORKS = tuple(f"{LARGE}, point {number}" for number in (1, 2))
"""The arms of its other forks, by how late they leave it."""
DRAWN_WIDE = "drawn as the source draws"
"""Small networks but for their weights, embeddings fifty times as large among them, on the rows of the small ones."""
DRAWN_WIDE_FORKS = f"{DRAWN_WIDE}, from the start"
"""The arm of their forks from the first step on, with the rows of those of ``ELSEWHERE``."""
TWICE, TWICE_SMALL = (
    tuple(f"starts drawn {drawn}, trained twice, {time} time" for time in ("first", "second"))
    for drawn in ("wide", "small")
)
"""Small networks of further seeds, the same starts in both arms, on other rows: drawn as the source draws its own, and
some of them, on the rows of these, drawn small."""
LABEL = 100
"""Such a fork is called LABEL times its network's seed plus its order: a number of its own in its arm."""


def forked(label: int) -> int:
    """The seed of the network that such a fork leaves."""
    return label // LABEL
