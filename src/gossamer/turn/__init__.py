"""A turn: what it takes to get one page of a site, decided without I/O. Read `page.py` first.

What belongs here: the order of steps, and what each answer leads to. What does not: the decisions themselves, which
are functions of `rules`, and performing steps, which is the worker's.
"""

from gossamer.turn.effects import Count, Effects, TurnResult
from gossamer.turn.hooks import HookFailure, Hooks
from gossamer.turn.page import take_turn
from gossamer.turn.settings import OperatorOrders, TurnMemories, TurnSettings

__all__ = [
    "Count", "Effects", "HookFailure", "Hooks", "OperatorOrders", "TurnMemories", "TurnResult", "TurnSettings",
    "take_turn",
]  # fmt: skip
