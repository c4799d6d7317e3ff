"""Tables under each other, as many of them and as fast as a book needs."""

import numpy as np
import pandas as pd


def stacked(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Tables under each other, categories of each column united (pandas would turn them into plain text)."""
    if not tables:
        return pd.DataFrame()
    words = [name for name in tables[0] if isinstance(tables[0][name].dtype, pd.CategoricalDtype)]
    others = pd.concat([table.drop(columns=words) for table in tables], ignore_index=True)
    united = {name: _united([pd.Categorical(table[name]) for table in tables]) for name in words}
    return others.assign(**united)[list(dict.fromkeys(name for table in tables for name in table))]


def _united(columns: list[pd.Categorical]) -> pd.Categorical:
    """Columns under each other; the categories are the words that occur, in the order in which they first do."""
    place: dict[str, int] = {}
    codes = []
    for column in columns:
        places = np.full(len(column.categories) + 1, -1)  # the last one is that of a missing word, whose code is -1
        for code in pd.unique(column.codes):
            if code >= 0:
                places[code] = place.setdefault(str(column.categories[code]), len(place))
        codes.append(places[column.codes])
    return pd.Categorical.from_codes(np.concatenate(codes), list(place))
