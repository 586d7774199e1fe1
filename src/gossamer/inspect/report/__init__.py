"""The report on a crawl: one HTML file that needs nothing but a browser.

`figures` queries the tables, `plots` draws, `page` makes the HTML. This package decides what a report contains and
how it looks; the caller passes in the settings that it names.
"""

from gossamer.inspect.report.figures import gather
from gossamer.inspect.report.page import About, content, render

__all__ = ["About", "content", "gather", "render"]
