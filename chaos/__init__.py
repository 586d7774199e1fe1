"""Faults, planned by a seed and inflicted on real crawls of a simulated web: `make chaos`.

Campaigns belong here: the faults that they inflict, and how they judge the result. The judges are the simulated web's
log and `gossamer verify`, never the crawl itself. Tests of single parts belong in `tests/`.
"""
