"""Tests of the campaigns of faults: what they share, and each of them in a tiny form."""
