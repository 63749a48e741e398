"""`llamaindex_hybrid_memory` under the name where LlamaIndex users look for a memory.

The folders above are shared with other distributions: an ``__init__.py`` in one of them would hide what these ship.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llamaindex_hybrid_memory import __all__ as __all__
from llamaindex_hybrid_memory import __dir__ as __dir__
from llamaindex_hybrid_memory import __version__ as __version__

if TYPE_CHECKING:
    from llamaindex_hybrid_memory import *  # noqa: F403 - at run time each name loads when it is first used
else:
    from llamaindex_hybrid_memory import __getattr__ as __getattr__
