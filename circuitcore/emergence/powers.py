"""By which power a quantity goes with a number: a straight line through logarithms, row by row."""

import numpy as np
import pandas as pd


def powers(table: pd.DataFrame) -> pd.Series:
    """The exponent p of x ** p that fits each row best, by least squares of natural logarithms.

    Args:
        table: positive values; columns are the numbers x, above 0 and at least two. A row that is not finite has NaN.

    Returns:
        p of each row, without unit.
    """
    x, y = np.log(table.columns.to_numpy(float)), np.log(table.to_numpy(float))
    return pd.Series((y - y.mean(1, keepdims=True)) @ (x - x.mean()) / np.square(x - x.mean()).sum(), table.index)
