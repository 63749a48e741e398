import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents as a site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1", "SITE_URL": "", "REPO_URL": ""}
    built = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=200, check=False)  # noqa: S603
    assert built.returncode == 0, built.stderr
    return folder
