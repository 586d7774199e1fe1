"""Politeness: what a site wishes, and what follows from it. Pure decisions only.

What belongs here answers "may we?" and "when?" from values that are passed in: robots rules, scope,
exclusions, pace, retries. No clock, no network, no database: those who ask have them.
"""
