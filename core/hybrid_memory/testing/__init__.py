"""Contract suites for whoever implements a port, and models that fail on demand.

A suite is a class of pytest tests. The test of an engine subclasses it and gives the fixture that it asks for::

    class TestMyLog(EventLogContract):
        @pytest.fixture
        def log(self):
            log = MyLog(...)
            yield log
            log.close()

What an index finds is compared, number by number, with the in-memory engine. To see the values of a failed
assertion, call ``pytest.register_assert_rewrite("hybrid_memory.testing")`` in ``conftest.py``. Needs pytest.
"""

from hybrid_memory.testing.models import FaultyModel, ScriptedModel

__all__ = ["FaultyModel", "ScriptedModel"]
