"""Agents made of other libraries' models; each module loads one kind (see `training.agents.PLUGINS`).

A plugin's module has ``load_model(path, greedy, game)``, which returns an `envs.agents.Agent` or raises ValueError in
one line. It is imported only when a spec names it, and imports its library only then. The agent has ``digest``, the
SHA-256 (hex digits) of the model's file: a tournament goes on only with the models that it began with.
"""
