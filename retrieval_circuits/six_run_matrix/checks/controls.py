"""Controls in words, and the ranges of effects."""

import pandas as pd

SHARE, DIFFERENCE = (0, 1), (-1, 1)
MOST = 0.9  # "nine runs of ten"


def at_most(control: pd.Series | float, bound: float, what: str) -> dict[str, object]:
    """A control that passes when nothing exceeds its bound."""
    worst = float(control.max()) if isinstance(control, pd.Series) else float(control)
    return {"control_passed": worst <= bound, "control_value": f"{what}: at most {worst:.3f}"}


def at_least(control: float, bound: float, what: str) -> dict[str, object]:
    """A control that passes when a number reaches its bound."""
    return {"control_passed": float(control) >= bound, "control_value": f"{what}: {float(control):.3f}"}
