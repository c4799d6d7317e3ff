"""Pure functions: activations and weights in, numbers out."""
