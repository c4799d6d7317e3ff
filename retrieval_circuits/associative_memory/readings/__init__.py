"""What claims and figures read off the tables: of memories that are filled, and of layers that keep facts."""
