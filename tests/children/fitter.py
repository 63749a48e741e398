"""Fits a judge of sentences on the examples of a folder, keeps it in another, and writes whether there is one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hybrid_memory.facts.sentences import judges
from tests.learning.test_judges import Telling

judges.EXAMPLES = Path(sys.argv[1])
os.environ["XDG_CACHE_HOME"] = os.environ["LOCALAPPDATA"] = sys.argv[2]
embedder = Telling()
judges.fit(embedder)
sys.stdout.write(f"{judges.judge_of(embedder) is not None}\n")
