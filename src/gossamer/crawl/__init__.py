"""The composition root: puts a crawl together from its parts. The only place that picks an engine."""
