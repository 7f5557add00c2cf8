"""Pictures of a table, made from snapshots alone."""
