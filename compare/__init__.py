"""Crawlers side by side on a simulated web, judged by the server's own log: `make compare`."""
