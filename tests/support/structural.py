"""Which edits no read-out can see, whatever the weights: the oracle of what passes leave out."""

from circuitcore.metrics import edited
from circuitcore.models.edits import resolve
from circuitcore.models.reach import onset, passes_on
from circuitcore.models.sites import Site


def structural(config, weights, batch, interventions, sources):
    """Whether each intervention has edits, and the read-out of no row sees one."""
    like = edited._shapes(config, weights, batch)
    found = [resolve(edits, batch.roles, sources, like) for edits in interventions]
    return tuple(bool(edits) and onset(edits, batch.roles["read_out"], config.n_layers) is None for edits in found)


def structurally_zero(n_layers, site, control):
    """Whether a row of an interchange table, by its ``site`` and ``edit``, is the clean answer whatever the weights.

    So it is where the patch goes to the wrong position at a site that only the same position reads: of the last layer,
    all but keys and values. As a control such a row cannot fail, and says nothing.
    """
    where, name = site.split(".")
    layer = int(where.removeprefix("L").split("H")[0])
    return control == "wrong_position" and not passes_on(Site(name, layer), n_layers)
