"""Gossamer: a polite, fault-tolerant, very fast web crawler."""

__version__ = "0.1.0"
