"""Benchmarks: CPU per page and per link, ratios against a peer in the same run. Never part of the tests."""
