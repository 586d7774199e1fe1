"""The report on a crawl: one HTML file that needs nothing but a browser.

`figures` asks the tables, `plots` draws, `page` puts both on a page. What belongs here is what a report tells and how
it looks; the settings it names come from whoever asks for it.
"""

from gossamer.inspect.report.figures import gather
from gossamer.inspect.report.page import About, render

__all__ = ["About", "gather", "render"]
