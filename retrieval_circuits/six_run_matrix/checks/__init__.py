"""The check of each claim, gathered from the modules that hold them: results in, effect over seeds and control out."""

from retrieval_circuits.six_run_matrix.checks import curriculum, forced, replication, roles, timing

CHECKS = {**replication.CHECKS, **timing.CHECKS, **curriculum.CHECKS, **roles.CHECKS, **forced.CHECKS}
