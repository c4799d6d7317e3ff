"""Powers: exact ones are found, and noisy ones are numpy's slopes."""

import numpy as np
import pandas as pd

from circuitcore.emergence import powers


def test_an_exact_power_is_found_in_every_row():
    x = np.array([3, 4, 6, 12])
    table = pd.DataFrame([5 * x**2.0, 7 / np.sqrt(x), 2 + 0.0 * x], index=[7, 8, 9], columns=x)
    assert np.allclose(powers(table), [2, -0.5, 0]) and list(powers(table).index) == [7, 8, 9]


def test_a_noisy_power_is_the_slope_of_least_squares():
    x = np.array([8.0, 16, 32, 64])
    values = np.exp(np.random.default_rng(0).normal(size=(5, 4)))
    found = powers(pd.DataFrame(values, columns=x))
    assert np.allclose(found, [np.polyfit(np.log(x), np.log(row), 1)[0] for row in values])
