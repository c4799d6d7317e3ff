"""The film of the chapter: three memories beside their targets, while one network is trained."""

from collections.abc import Sequence

import pandas as pd

from livingpaper.explorer.material import Material
from livingpaper.explorer.matrix_film import Filmed, MatrixFilm
from retrieval_circuits.bigrams_and_composition.claims import CLAIMS
from retrieval_circuits.bigrams_and_composition.design import SNAPSHOTS
from retrieval_circuits.bigrams_and_composition.measures import K1, K2, O2

DOES = {
    O2: "writes answers. Row: a token that is attended to; column: an output.",
    K2: "finds them. Row: a trigger that asks; column: the mark of a token.",
    K1: "looks one back. Row: a position that asks; column: a position.",
}
TOLD = ("BC3", "BC4")
"""Claims whose sentences are the title."""


def film(materials: Sequence[Material]) -> MatrixFilm:
    """The film, under the sentences that the verdicts on the order of learning allow."""
    results = materials[0].results
    rows = results.rows(SNAPSHOTS)
    steps = tuple(sorted(int(step) for step in rows["step"].unique()))
    note = (
        f"The network of seed {int(rows['init_seed'].iloc[0])}, trained all at once by gradient descent. A memory "
        "recalls a pair when the right partner scores highest in its row."
    )
    return MatrixFilm(
        name="film-memories",
        title=" ".join(claim.verdict(results).sentence for claim in CLAIMS if claim.id in TOLD),
        note=note,
        steps=steps,
        matrices=tuple(filmed(rows, memory) for memory in DOES),
    )


def filmed(rows: pd.DataFrame, memory: str) -> Filmed:
    """One memory's scores as a picture's numbers."""
    own = rows[rows["memory"] == memory].sort_values(["step", "query", "key"])
    shape = own["step"].nunique(), own["query"].nunique(), own["key"].nunique()
    scores, targets = (own[column].to_numpy().reshape(shape) for column in ("score", "target"))
    return Filmed(label=memory, does=DOES[memory], scores=scores, right=targets[0].argmax(1))
