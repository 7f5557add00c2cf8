"""A person at the table, in the terminal: any game by its contract, what is drawn by the keys of its snapshots."""
