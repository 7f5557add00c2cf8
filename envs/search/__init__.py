"""Search on the compiled engine, written once for all games: sampled deals, playouts, exact endings, trees, policies.

Everything starts from redacted records, as `envs.agents.Decisions` holds them; hidden cards come from `prepare_deals`
and `determinize` alone.
"""
