"""A matrix as a picture: a square a number, blue above zero, orange below, paler the smaller; as ``static/heat.js``."""

import html

import numpy as np
from jaxtyping import Float, Int

SHADES = 16
"""Of each colour."""


def shades_of(values: Float[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
    """Values by the largest of all, in whole shades from -``SHADES`` to ``SHADES``."""
    top = np.abs(values).max(initial=0) or 1.0
    return np.rint(values / top * SHADES).astype(np.int8)


def heat_svg(shades: Int[np.ndarray, "row column"], prefix: str, label: str) -> str:
    """One path a shade; classes begin with ``prefix``."""
    n_rows, n_columns = shades.shape
    paths = "".join(
        f'<path class="{"above" if shade > 0 else "below"}" fill-opacity="{abs(shade) / SHADES}" '
        f'd="{"".join(f"M{j} {i}h1v1h-1z" for i, j in np.argwhere(shades == shade))}"/>'
        for shade in np.unique(shades[shades != 0]).tolist()
    )
    return (
        f'<svg class="{prefix}-heat" viewBox="0 0 {n_columns} {n_rows}" role="img" aria-label="{html.escape(label)}" '
        f'shape-rendering="crispEdges">{paths}</svg>'
    )
