"""What a planted bug does to the code at its mark. Pure.

Most changes are about the syntax of the marked statement and not about its names, so that a renamed variable or a moved
function needs no change here. Where an expression has to be written down, `{}` in it stands for what was there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_OTHER_BOUND: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Gt: ast.GtE,
    ast.Lt: ast.LtE,
    ast.GtE: ast.Gt,
    ast.LtE: ast.Lt,
}


@dataclass(slots=True, kw_only=True)
class Place:
    """A marked statement, and the block in which it stands."""

    statement: ast.stmt
    block: list[ast.stmt]
    parent: ast.AST  # has the block
    outer: list[ast.stmt]  # the block in which the parent stands
    line: int

    @property
    def index(self) -> int:
        """The position of the statement in its block."""
        return self.block.index(self.statement)

    def nodes(self) -> Iterator[ast.AST]:
        """Yield the expressions of the statement that begin in the marked line, the outermost first."""
        return (node for node in ast.walk(self.statement) if getattr(node, "lineno", self.line) == self.line)

    def replace(self, old: ast.AST, new: ast.AST) -> None:
        """Put another node in the place of one."""
        for node in ast.walk(self.statement):
            for field, value in ast.iter_fields(node):
                if value is old:
                    setattr(node, field, new)
                elif isinstance(value, list) and any(item is old for item in value):
                    setattr(node, field, [new if item is old else item for item in value])


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChange:
    """A change of the marked line's text: for SQL, and for what syntax cannot say."""

    pattern: str
    replacement: str

    def apply(self, line: str) -> str:
        """Return the changed line; raise LookupError if the pattern is not in it."""
        changed, count = re.subn(self.pattern, self.replacement, line, count=1)
        if not count:
            raise LookupError(f"the marked line has no {self.pattern!r}: {line.strip()}")
        return changed


TreeChange = Callable[[Place], None]
Change = LineChange | TreeChange


def substitute(pattern: str, replacement: str) -> LineChange:
    """Replace the first match of a regular expression in the line."""
    return LineChange(pattern=pattern, replacement=replacement)


def append(text: str) -> LineChange:
    """Add text to the end of the line."""
    return LineChange(pattern=r"$", replacement=f" {text}")


def blank() -> LineChange:
    """Remove the line."""
    return LineChange(pattern=r"^.*$", replacement="")


def plant(text: str, changes: Sequence[tuple[int, Change]]) -> str:
    """Return a file's text with a change at each of the given lines. The first line is 1."""
    lines = text.splitlines()
    in_tree = []
    for line, change in changes:
        if isinstance(change, LineChange):
            lines[line - 1] = change.apply(lines[line - 1])
        else:
            in_tree.append((line, change))
    planted = "\n".join(lines) + "\n"
    return _plant_in_tree(planted, in_tree) if in_tree else planted


def delete() -> TreeChange:
    """Remove the statement."""

    def change(place: Place) -> None:
        place.block[place.index] = ast.Pass()

    return change


def insert_before(text: str) -> TreeChange:
    """Put statements before the marked one."""

    def change(place: Place) -> None:
        place.block[place.index : place.index] = ast.parse(text).body

    return change


def insert_after(text: str) -> TreeChange:
    """Put statements after the marked one."""

    def change(place: Place) -> None:
        place.block[place.index + 1 : place.index + 1] = ast.parse(text).body

    return change


def swap_with_next() -> TreeChange:
    """Swap the statement with the next one of its block."""

    def change(place: Place) -> None:
        at = place.index
        place.block[at], place.block[at + 1] = place.block[at + 1], place.block[at]

    return change


def split_block() -> TreeChange:
    """End the `with` around the statement before it, and open the same `with` again."""

    def change(place: Place) -> None:
        first = place.parent
        if not isinstance(first, ast.With):
            raise LookupError("the marked statement is not in a `with`")
        at = place.index
        second = ast.With(items=first.items, body=first.body[at:])
        del first.body[at:]
        place.outer.insert(place.outer.index(first) + 1, second)

    return change


def assign_backwards() -> TreeChange:
    """Assign the first target to the value: `a = b` becomes `b = a`."""

    def change(place: Place) -> None:
        old = place.statement
        if not isinstance(old, ast.Assign):
            raise LookupError("the marked statement assigns nothing")
        new = f"{ast.unparse(old.value)} = {ast.unparse(old.targets[0])}"
        place.block[place.index] = ast.parse(new).body[0]

    return change


def condition(template: str) -> TreeChange:
    """Change the condition of an `if`, a `while`, an `a if b else c` or a comprehension."""

    def change(place: Place) -> None:
        for node in place.nodes():
            old = node.ifs[0] if isinstance(node, ast.comprehension) and node.ifs else getattr(node, "test", None)
            if old is not None:
                place.replace(old, _expression(template, old))
                return
        raise LookupError("the marked statement has no condition")

    return change


def negate() -> TreeChange:
    """Turn the condition into its opposite."""
    return condition("not {}")


def value(template: str) -> TreeChange:
    """Change what the statement returns, assigns or evaluates."""

    def change(place: Place) -> None:
        old = getattr(place.statement, "value", None)
        if old is None:
            raise LookupError("the marked statement has no value")
        place.replace(old, _expression(template, old))

    return change


def argument(position: int, template: str) -> TreeChange:
    """Change a positional argument of the outermost call that has one at this position."""

    def change(place: Place) -> None:
        for node in place.nodes():
            if isinstance(node, ast.Call) and len(node.args) > position:
                place.replace(node.args[position], _expression(template, node.args[position]))
                return
        raise LookupError(f"the marked line has no call with {position + 1} arguments")

    return change


def keyword(name: str, template: str) -> TreeChange:
    """Change a keyword argument of the outermost call that has it."""

    def change(place: Place) -> None:
        for node in place.nodes():
            if isinstance(node, ast.keyword) and node.arg == name:
                place.replace(node.value, _expression(template, node.value))
                return
        raise LookupError(f"the marked line has no argument {name}=")

    return change


def drop_operand(position: int) -> TreeChange:
    """Remove one operand of an `and` or `or`."""

    def change(place: Place) -> None:
        for node in place.nodes():
            if isinstance(node, ast.BoolOp):
                left = [operand for at, operand in enumerate(node.values) if at != position]
                place.replace(node, left[0] if len(left) == 1 else ast.BoolOp(op=node.op, values=left))
                return
        raise LookupError("the marked line has no `and` or `or`")

    return change


def keep_left(operator: type[ast.operator]) -> TreeChange:
    """Replace the outermost arithmetic operation of a kind with its left operand."""

    def change(place: Place) -> None:
        for node in place.nodes():
            if isinstance(node, ast.BinOp) and isinstance(node.op, operator):
                place.replace(node, node.left)
                return
        raise LookupError(f"the marked line has no {operator.__name__}")

    return change


def compare_first_only() -> TreeChange:
    """Compare only the first items of two tuples."""

    def change(place: Place) -> None:
        for node in place.nodes():
            match node:
                case ast.Compare(left=ast.Tuple(elts=[left, *_]), comparators=[ast.Tuple(elts=[right, *_])]):
                    place.replace(node, ast.Compare(left=left, ops=node.ops, comparators=[right]))
                    return
        raise LookupError("the marked line compares no tuples")

    return change


def shift_bound() -> TreeChange:
    """Let a comparison include its bound, or exclude it: `>` becomes `>=`, `<=` becomes `<`."""

    def change(place: Place) -> None:
        for node in place.nodes():
            if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER_BOUND:
                node.ops[0] = _OTHER_BOUND[type(node.ops[0])]()
                return
        raise LookupError("the marked line has no such comparison")

    return change


def _expression(template: str, old: ast.AST) -> ast.expr:
    return ast.parse(template.replace("{}", f"({ast.unparse(old)})"), mode="eval").body


def _plant_in_tree(text: str, changes: Sequence[tuple[int, TreeChange]]) -> str:
    tree = ast.parse(text)
    places = [_place_at(tree, line) for line, _ in changes]  # all of them first: a change may move lines
    for place, (_, change) in zip(places, changes, strict=True):
        change(place)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _place_at(tree: ast.Module, line: int) -> Place:
    """Return the innermost statement in which a line is."""
    parent: ast.AST = tree
    outer: list[ast.stmt] = []
    block: list[ast.stmt] = tree.body
    found: Place | None = None
    while True:
        inside = next((it for it in block if it.lineno <= line <= (it.end_lineno or it.lineno)), None)
        if inside is None:
            break
        found = Place(statement=inside, block=block, parent=parent, outer=outer, line=line)
        parent, outer = inside, block
        block = next((it for it in _blocks(inside) if it[0].lineno <= line <= (it[-1].end_lineno or 0)), [])
    if found is None:
        raise LookupError(f"there is no statement in line {line}")
    return found


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks within a statement, those of its `except` and `case` parts included."""
    for owner in (statement, *getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
        for field in ("body", "orelse", "finalbody"):
            if block := getattr(owner, field, None):
                yield block
