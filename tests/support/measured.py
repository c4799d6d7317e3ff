"""What studies measure, as tests ask for it."""


def battery_of(study, params, arm):
    """The instrument of an arm that makes ``Results.measurements``."""
    (found,) = (one for one in study.instruments(params, arm) if one.name == "measurements")
    return found
