"""docs/PACKAGES.md agrees with the Rust library, and with this package."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

import leasehold
import leasehold.aio

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "crates/leasehold/src"
TABLE = ROOT / "docs/PACKAGES.md"

# What threads have is the same as what tasks have; links and their conformance are Rust's own.
LEFT_OUT = (
    "blocking",
    "conformance",
    "link",
    "clock",
    "observe/metrics.rs",
    "observe/tracing.rs",
    "safety.rs",
    "pages.rs",
)

# Of these every public method has a row.
TYPES = {
    "DetachedLease", "Election", "Leaders", "Leadership", "LeaseGuard", "LockManager", "LockOptions",
    "ManagerBuilder", "Mutex", "Node",
    "OnceGuard", "OncePer", "Operator", "PermitGuard", "ReadGuard", "RwLock", "Semaphore",
    "TimestampGuard", "TimestampLock",
    "Watcher", "World", "WriteGuard",
}  # fmt: skip

pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="the repository is not around this package")


def items_of_the_library() -> set[str]:
    """Public types by their names, and methods as `Type::method`."""
    found = set(exports((LIBRARY / "lib.rs").read_text()))
    for path in sorted(LIBRARY.rglob("*.rs")):
        relative = path.relative_to(LIBRARY).as_posix()
        if not relative.startswith(LEFT_OUT) and not relative.endswith("/tests.rs"):
            found |= methods(path.read_text().split("#[cfg(test)]\nmod tests {")[0])
    return found


def exports(text: str) -> list[str]:
    groups = re.findall(r"^pub use [\w:]+::(?:\{([^}]*)\}|(\w+));", text, re.MULTILINE)
    return [name for names, one in groups for name in re.findall(r"\w+", names or one)]


def methods(text: str) -> set[str]:
    found = set()
    for block in re.split(r"^(?=impl\b)", text, flags=re.MULTILINE)[1:]:
        head = re.match(r"impl(?:<[^>]*>)?\s+(\w+)(?:<[^{]*>)?\s*\{", block)
        if head and head[1] in TYPES:
            body = block.split("\n}\n")[0]
            names = re.findall(r"^    pub (?:const |async )*fn (\w+)", body, re.MULTILINE)
            found |= {f"{head[1]}::{name}" for name in names}
    return found


def rows() -> dict[str, list[str]]:
    lines = re.findall(r"^\| `([\w:]+)` \|(.*)\|$", TABLE.read_text(), re.MULTILINE)
    assert len(lines) == len({name for name, _ in lines}), "a row is there twice"
    return {name: [cell.strip() for cell in rest.split("|")] for name, rest in lines}


def test_the_parser_sees_what_is_there() -> None:
    items = items_of_the_library()
    assert {
        "LockManager::mutex",
        "LeaseGuard::fencing_token",
        "Operator::reconfigure",
        "Semaphore",
        "LockOptions::fair",
    } <= items
    assert exports("pub use a::B;\npub use c::{D, E};\n") == ["B", "D", "E"]
    text = "impl Mutex {\n    pub async fn hold<T>(\n    pub(crate) fn not(\n}\nimpl Other {\n    pub fn no(\n}\n"
    assert methods(text) == {"Mutex::hold"}


def test_the_table_has_what_the_library_has() -> None:
    items, table = items_of_the_library(), rows()
    assert sorted(items - set(table)) == [], "these have no row in docs/PACKAGES.md"
    assert sorted(set(table) - items) == [], "docs/PACKAGES.md has rows of what the library does not have"


def test_what_the_table_names_is_in_the_package() -> None:
    wrong = []
    for name, cells in rows().items():
        python = cells[0]
        named = re.findall(r"`(leasehold[^`]*)`", python)
        if not named and not re.match(r"—: .{8,}", python):
            wrong.append(f"{name}: {python!r} names nothing, and gives no reason")
        wrong += [f"{name}: {item}" for item in named if not is_there(item)]
    assert wrong == []


def test_what_node_is_said_to_have_is_what_its_own_table_says() -> None:
    own = dict(re.findall(r"^\| `([\w:]+)` \| (.*) \|$", (ROOT / "node/api-table.md").read_text(), re.MULTILINE))
    wrong = {name: cells[1] for name, cells in rows().items() if len(cells) > 1 and own.get(name) != cells[1]}
    assert wrong == {}
    assert sum(len(cells) > 1 for cells in rows().values()) > 200


def is_there(item: str) -> bool:
    """`leasehold.Lease.extend`, `leasehold.LockManager.lock(once_per)` or `leasehold.LockOptions[ttl]`."""
    shape = re.fullmatch(r"(leasehold(?:\.\w+)*?)\.(\w+)(?:\.(\w+))?(?:\((\w+)\)|\[(\w+)\])?", item)
    if shape is None:
        return False
    module, of, attribute, argument, key = shape.groups()
    modules = [importlib.import_module(module)]
    if module == "leasehold" and of in leasehold.aio.__all__:
        modules.append(leasehold.aio)
    for module_ in modules:
        if not hasattr(module_, of):
            return False
        found = getattr(module_, of)
        if attribute is not None:
            # A field of a dataclass without a default is only annotated.
            if not hasattr(found, attribute) and attribute not in getattr(found, "__annotations__", {}):
                return False
            found = getattr(found, attribute, None)
        if key is not None and key not in found.__annotations__:
            return False
        if argument is not None and argument not in inspect.signature(found).parameters:
            return False
    return True


def test_names_that_are_not_there_are_seen() -> None:
    assert is_there("leasehold.LockManager.lock(once_per)") and is_there("leasehold.LockOptions[ttl]")
    assert is_there("leasehold.Held.holder") and is_there("leasehold.testing.World")
    for wrong in (
        "leasehold.Nobody",
        "leasehold.Lease.fly",
        "leasehold.LockManager.lock(speed)",
        "leasehold.LockOptions[speed]",
    ):
        assert not is_there(wrong), wrong


def test_tasks_have_the_same_names_as_threads() -> None:
    missing = []
    for name in leasehold.aio.__all__:
        threads, tasks = getattr(leasehold, name), getattr(leasehold.aio, name)
        public = {member for member in dir(threads) if not member.startswith("_")}
        missing += [f"{name}.{member}" for member in public if not hasattr(tasks, member)]
    assert missing == []
