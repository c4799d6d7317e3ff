"""What claims and figures read off the tables: births and their timing, numbers per seed, the curricula compared."""
