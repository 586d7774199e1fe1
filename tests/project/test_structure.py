"""The package keeps its shape: short functions, small constructors, no import cycles, one meaning per class name.

Each list below names the violations that the package still has. Remove an entry when you have fixed it; the test fails
if an entry is no longer a violation, and it fails if there is a violation that no list names. Never add an entry.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "gossamer"
MAX_FUNCTION_LINES = 40  # from `def` to the last line; decorators are not counted
MAX_CONSTRUCTOR_ARGUMENTS = 8  # without `self`

LONG_FUNCTIONS: set[str] = set()
LARGE_CONSTRUCTORS: set[str] = set()
IMPORT_CYCLES: set[tuple[str, ...]] = set()
AMBIGUOUS_CLASS_NAMES: set[str] = set()

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def parse(folder: Path) -> dict[str, ast.Module]:
    """Return the syntax tree of each module, by its name within the package; the package itself is ``""``."""
    trees = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        trees[name] = ast.parse(path.read_text(), filename=str(path))
    return trees


def find_definitions(node: ast.AST, outer: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield every class and function below a node, each with its qualified name."""
    for child in ast.iter_child_nodes(node):
        name = outer
        if isinstance(child, (*FUNCTION, ast.ClassDef)):
            name = f"{outer}.{child.name}" if outer else child.name
            yield name, child
        yield from find_definitions(child, name)


def find_long_functions(trees: dict[str, ast.Module]) -> set[str]:
    return {
        f"{module}:{name}"
        for module, tree in trees.items()
        for name, node in find_definitions(tree)
        if isinstance(node, FUNCTION)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    }


def count_constructor_arguments(node: ast.ClassDef) -> int:
    """Return how many arguments a class takes. Records and settings, which are frozen or named tuples, count as 0."""
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
            taken = member.args
            return len(taken.posonlyargs) + len(taken.args) + len(taken.kwonlyargs) - 1
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if any("dataclass" in decorator and "frozen=True" not in decorator for decorator in decorators):
        return sum(isinstance(member, ast.AnnAssign) for member in node.body)
    return 0


def find_large_constructors(trees: dict[str, ast.Module]) -> set[str]:
    return {
        f"{module}:{name}"
        for module, tree in trees.items()
        for name, node in find_definitions(tree)
        if isinstance(node, ast.ClassDef) and count_constructor_arguments(node) > MAX_CONSTRUCTOR_ARGUMENTS
    }


def find_imports(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Return which modules of the package each module imports, at its top, in a function or for its types only.

    The package itself is left out: it loads `gossamer.Crawl` only when a program asks for it.
    """
    imported: dict[str, set[str]] = {module: set() for module in trees if module}
    for module, found in imported.items():
        for node in ast.walk(trees[module]):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for name in names:
                if name.startswith("gossamer."):
                    inner = name.removeprefix("gossamer.")  # a module, or a module and a name in it
                    found.add(inner if inner in imported else inner.rpartition(".")[0])
        found.discard("")
    return imported


def find_cycles(imported: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """Return the groups of modules that import each other, directly or through others."""
    reached: dict[str, set[str]] = {}
    for module in imported:
        seen: set[str] = set()
        waiting = [module]
        while waiting:
            new = imported[waiting.pop()] - seen
            seen |= new
            waiting += new
        reached[module] = seen
    return {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in imported
        if module in reached[module]
    }


def find_ambiguous_class_names(trees: dict[str, ast.Module]) -> set[str]:
    modules: dict[str, list[str]] = defaultdict(list)
    for module, tree in trees.items():
        for _, node in find_definitions(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(module)
    return {name for name, found in modules.items() if len(found) > 1}


def test_no_function_is_longer_than_forty_lines() -> None:
    assert find_long_functions(parse(PACKAGE)) == LONG_FUNCTIONS


def test_no_constructor_takes_more_than_eight_arguments() -> None:
    assert find_large_constructors(parse(PACKAGE)) == LARGE_CONSTRUCTORS


def test_no_modules_import_each_other_not_even_for_their_types() -> None:
    assert find_cycles(find_imports(parse(PACKAGE))) == IMPORT_CYCLES


def test_a_public_class_name_means_one_thing() -> None:
    assert find_ambiguous_class_names(parse(PACKAGE)) == AMBIGUOUS_CLASS_NAMES


def test_each_kind_of_violation_is_found(tmp_path: Path) -> None:
    arguments = ", ".join(f"a{number}" for number in range(9))
    fields = "\n".join(f"    a{number}: int" for number in range(9))
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "__init__.py").write_text("from gossamer.third import Third\n")
    (tmp_path / "first.py").write_text(
        f"if TYPE_CHECKING:\n    from gossamer.inner import Third\n"
        f"class Twice:\n    def __init__(self, {arguments}): ...\n"
        f"@dataclass(slots=True)\nclass Changing:\n{fields}\n"
        f"@dataclass(frozen=True)\nclass Record:\n{fields}\n"
        f"class Row(NamedTuple):\n{fields}\n"
    )
    (tmp_path / "third.py").write_text(
        "def long():\n    import gossamer.first\n" + "    pass\n" * 39 + "class Twice: ...\nclass _Private: ...\n"
    )
    (tmp_path / "fourth.py").write_text(
        "from gossamer import third\nclass _Private: ...\n"
        "def short():\n" + "    pass\n" * 39 + f"def f({arguments}): ...\n"
    )
    trees = parse(tmp_path)
    assert find_long_functions(trees) == {"third:long"}
    assert find_large_constructors(trees) == {"first:Twice", "first:Changing"}
    assert find_cycles(find_imports(trees)) == {("first", "inner", "third")}
    assert find_ambiguous_class_names(trees) == {"Twice"}
