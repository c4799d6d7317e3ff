"""What claims say of what was drawn, of how shares are counted, and of how often numbers were looked at."""

OF_ORDERS = "orders of one network"
"""What one number of a reading is of where forks of the parent are read."""
COUNTED_SINCE = (
    "Reading and bound were fixed beforehand. Since the results were seen it is counted as a share; before, as a mean."
)
RECOUNTED = f"{COUNTED_SINCE} A mean of equal numbers had an interval of no width."
"""What claims remark whose readings say of each draw whether, or in which part of its runs, something happened."""
LOOKS = "It was looked at three times: with five, ten and eighteen orders."
