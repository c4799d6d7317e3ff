"""Tables of results, claims about them, and the verdicts that they earn."""
