"""What the tests of stored decisions have in common."""

import pytest

from tests.builders import rules


@pytest.fixture
def conf(tmp_path):
    """A configuration whose decisions are stored in tmp_path."""
    return rules.a_conf(DEFAULT__state_path=str(tmp_path),
                        DEFAULT__host='here')
