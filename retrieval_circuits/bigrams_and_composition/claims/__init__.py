"""What is claimed of bigrams, written down before the seeds that judge it were computed."""

from retrieval_circuits.bigrams_and_composition.claims import first, later, together

CLAIMS = (*first.CLAIMS, *later.CLAIMS, *together.CLAIMS)
