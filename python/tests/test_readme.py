"""What the README shows, and the examples that need nothing else, run as they are."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
README = PACKAGE / "README.md"
EXAMPLES = PACKAGE / "examples"

pytestmark = pytest.mark.skipif(not README.exists(), reason="the repository is not around this package")


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_every_block_of_the_readme_runs(urls: list[str], tmp_path: Path) -> None:
    programs = blocks()
    assert len(programs) >= 6
    for program in programs:
        path = tmp_path / "test_block.py"
        path.write_text(program.replace("/tmp/leasehold-demo", str(tmp_path / "locks")))
        is_test = program.startswith("def test_")
        words = [sys.executable, *(["-m", "pytest", "-q", "-p", "no:cacheprovider"] if is_test else []), str(path)]
        environment = {**os.environ, "LEASEHOLD_NODES": ",".join(urls)}
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=60, env=environment, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, program + done.stdout + done.stderr


def test_a_first_lock_takes_ten_lines() -> None:
    first = [line for line in blocks()[0].splitlines() if line.strip()]
    assert len(first) <= 10 and "Held" in blocks()[0]


def test_the_script_for_cron_does_its_work_once() -> None:
    words = [sys.executable, str(EXAMPLES / "cron_script.py"), "--demo"]
    for _ in range(2):
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_examples_name_what_is_there() -> None:
    import leasehold
    import leasehold.aio

    for path in sorted(EXAMPLES.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in ("leasehold", "leasehold.aio"):
                module = leasehold if node.module == "leasehold" else leasehold.aio
                assert all(hasattr(module, name.name) for name in node.names), path


def test_the_service_with_fastapi_answers() -> None:
    pytest.importorskip("fastapi", reason="fastapi is not here: its example is only read")
    pytest.importorskip("httpx", reason="httpx is not here: the example of fastapi is only read")
    program = (
        "from fastapi.testclient import TestClient\nfrom fastapi_app import app\n"
        "with TestClient(app) as client:\n    answer = client.post('/orders/42/charge')\n"
        "assert answer.status_code == 200 and answer.json()['token'] > 0, answer.text\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "LEASEHOLD_NODES"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=EXAMPLES, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
