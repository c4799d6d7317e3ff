"""What is computed on memories: counts, matrices trained alone, gradients, facts learnt by one layer."""
