"""Every planted bug has its mark and can be planted, and those that are cheap to notice are noticed."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from chaos.planted import SHORT
from chaos.planted import changes as change
from chaos.planted.bugs import BUGS, CRAWL_BUGS
from chaos.planted.marks import find_marks
from chaos.planted.planting import ROOT, SOURCE, Bug, try_out

if TYPE_CHECKING:
    from pathlib import Path


def test_each_mark_of_a_bug_stands_in_the_source_once_and_each_mark_in_the_source_has_a_bug() -> None:
    in_source = Counter(mark.name for mark in find_marks(SOURCE))
    assert in_source == Counter(name for bug in BUGS.values() for name in bug.changes)
    assert set(in_source.values()) == {1}


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_can_still_be_planted_and_tests_are_named_that_notice_it(name: str) -> None:
    bug = BUGS[name]
    for file, text in bug.planted(SOURCE).items():
        right = file.read_text(encoding="utf-8")
        if file.suffix == ".py":
            assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(right))  # comments and layout apart
            compile(text, file, "exec")
        else:
            assert text != right
    assert bool(bug.seeds) != bool(bug.tests)
    if bug.tests:
        assert (ROOT / bug.tests.partition("::")[0]).exists()


@pytest.mark.parametrize(
    ("before", "made", "after"),
    [
        ("a()  # plant: here\nb()", change.delete(), "pass\nb()"),
        ("# plant: here\n# why\na()", change.delete(), "pass"),
        ("if x:\n  a()  # why  # plant: here", change.delete(), "if x:\n  pass"),
        ("try:\n  a()\nexcept E:\n  b()  # plant: here", change.delete(), "try:\n  a()\nexcept E:\n  pass"),
        ("a()  # plant: here\nb()", change.swap_with_next(), "b()\na()"),
        ("a()  # plant: here", change.insert_before("b()"), "b()\na()"),
        ("a()  # plant: here", change.insert_after("b()"), "a()\nb()"),
        ("with a:\n  b()\n  c()  # plant: here", change.split_block(), "with a:\n  b()\nwith a:\n  c()"),
        ("a.x = a.y = b.x  # plant: here", change.assign_backwards(), "b.x = a.x"),
        ("if a:  # plant: here\n  b()", change.condition("c and {}"), "if c and a:\n  b()"),
        ("if a:\n  b()\nelif c:  # plant: here\n  d()", change.condition("0"), "if a:\n  b()\nelif 0:\n  d()"),
        ("a = [b for b in c if d]  # plant: here", change.condition("False"), "a = [b for b in c if False]"),
        ("a = b if c else d  # plant: here", change.negate(), "a = b if not c else d"),
        ("a = b or c  # plant: here", change.value("2 * {}"), "a = 2 * (b or c)"),
        ("a(b(c, d))  # plant: here", change.argument(1, "e"), "a(b(c, e))"),
        ("a(b(c=1, d=2))  # plant: here", change.keyword("d", "3"), "a(b(c=1, d=3))"),
        ("a(\n  b + c,\n  d + e,  # plant: here\n)", change.keep_left(ast.Add), "a(b + c, d)"),
        ("a = b * (c + d)  # plant: here", change.keep_left(ast.Add), "a = b * c"),
        ("a = b and c and d  # plant: here", change.drop_operand(1), "a = b and d"),
        ("a = b or c  # plant: here", change.drop_operand(0), "a = c"),
        ("a = b or (c, d) != (e, f)  # plant: here", change.compare_first_only(), "a = b or c != e"),
        ("if a > b:  # plant: here\n  c()", change.shift_bound(), "if a >= b:\n  c()"),
        ("a = 12  # plant: here", change.substitute("2", "3"), "a = 13"),
    ],
)
def test_a_change_is_made_to_the_marked_statement(before: str, made: change.Change, after: str, tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text(before + "\n")
    Bug(changes={"here": made}, seeds=1).plant(tmp_path)
    assert ast.unparse(ast.parse(file.read_text())) == ast.unparse(ast.parse(after))


@pytest.mark.parametrize(
    ("made", "after"), [(change.blank(), ""), (change.append("c"), "b c"), (change.substitute("b", "d"), "d")]
)
def test_a_change_is_made_to_the_marked_line_of_sql(made: change.Change, after: str, tmp_path: Path) -> None:
    file = tmp_path / "some.sql"
    file.write_text("a\n-- plant: here\nb\n")
    Bug(changes={"here": made}, seeds=1).plant(tmp_path)
    assert file.read_text() == f"a\n-- plant: here\n{after}\n"


def test_two_marks_in_one_file_are_both_changed(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text("a()  # plant: one, other\nb()  # plant: two\n")
    Bug(changes={"one": change.insert_after("c()"), "two": change.delete()}, seeds=1).plant(tmp_path)
    assert file.read_text() == "a()\nc()\npass\n"


@pytest.mark.parametrize("text", ["a()\n", "a()  # plant: here\nb()  # plant: here\n"])
def test_a_mark_that_is_missing_or_stands_twice_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(text)
    with pytest.raises(LookupError, match="'plant: here' must stand in the source once"):
        Bug(changes={"here": change.delete()}, seeds=1).plant(tmp_path)


@pytest.mark.parametrize(
    "made",
    [
        change.substitute("b", "c"), change.split_block(), change.assign_backwards(), change.condition("False"),
        change.argument(0, "b"), change.keyword("b", "c"), change.drop_operand(0), change.keep_left(ast.Add),
        change.compare_first_only(), change.shift_bound(),
    ],
)  # fmt: skip
def test_a_change_that_does_not_suit_the_marked_code_is_an_error(made: change.Change, tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text("a()  # plant: x\n")
    with pytest.raises(LookupError, match="the marked"):
        Bug(changes={"x": made}, seeds=1).plant(tmp_path)


@pytest.mark.parametrize("name", SHORT)
def test_a_planted_bug_is_noticed(name: str) -> None:
    assert try_out(CRAWL_BUGS[name])


def test_a_change_that_is_no_bug_is_not_noticed() -> None:
    assert try_out(Bug(changes={"lease-ignored": change.value("{}")}, tests="tests/worker/test_membership.py")) == ""
