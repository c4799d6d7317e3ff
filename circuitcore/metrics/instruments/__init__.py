"""What is measured on a run, as named, versioned tables."""
