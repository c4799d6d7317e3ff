"""Benchmarks, side by side with peers: ``python3 paper.py bench``. No part of the library, and no test."""
