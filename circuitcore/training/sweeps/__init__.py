"""Many recipes: side by side on processes, a cluster or one device; and how far they are."""
