"""How sizes, times and waits are written for people: in the terminal as in reports."""

from gossamer.inspect.wording import duration, moment, plain, size, span, wait

__all__ = ["duration", "moment", "plain", "size", "span", "wait"]
