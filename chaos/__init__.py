"""Faults, planned by a seed and inflicted on real crawls of a simulated web: `make chaos`.

What belongs here: campaigns, what they inflict and how they prove it. What a crawl did is told by the simulated web's
log and by `gossamer verify`, never by the crawl itself. What does not: tests of single parts (`tests/`).
"""
