"""Self-play training and evaluation for every game of `envs`, of which this package knows no rule."""
