"""Contract suites for implementations of a port, and models that fail on demand.

A suite is a class of pytest tests. To test an engine, subclass the suite and provide the fixture it asks for::

    class TestMyLog(EventLogContract):
        @pytest.fixture
        def log(self):
            log = MyLog(...)
            yield log
            log.close()

The suites compare the results of an index, number by number, with the in-memory engine. To see the values of a failed
assertion, call ``pytest.register_assert_rewrite("hybrid_memory.testing")`` in ``conftest.py``. Needs pytest.
"""

from hybrid_memory.testing.models import FaultyModel, ScriptedModel

__all__ = ["FaultyModel", "ScriptedModel"]
