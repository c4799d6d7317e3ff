"""What claims and figures read off the tables: of networks, and of the sparse features of the source's."""
