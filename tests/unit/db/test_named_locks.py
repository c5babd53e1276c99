"""Databases without named locks."""

import pytest

from nova_sched.db import engine
from nova_sched.db import named_locks
from nova_sched.db.named_locks import NamedLocks


@pytest.mark.parametrize('url', [
    'sqlite://', 'mysql+pymysql://u:p@127.0.0.1:1/d'], ids=[
        'of a kind that has none', 'that do not answer'])
def test_no_lock_is_held_and_it_is_told_once(url, caplog):
    locks = NamedLocks(engine.Database(url))
    for _ in range(3):
        with locks.held('group g', 1) as is_held:
            assert not is_held

    assert caplog.text.count('has no named locks') == 1
    assert 'p@' not in caplog.text


def test_a_server_that_refuses_the_statement_holds_no_lock(monkeypatch,
                                                           caplog):
    """As a strict mode of a cluster does."""
    monkeypatch.setitem(named_locks._STATEMENTS, 'sqlite',
                        named_locks._STATEMENTS['mysql'])
    locks = NamedLocks(engine.Database('sqlite://'))

    with locks.held('group g', 1) as is_held:
        assert not is_held

    assert caplog.text.count('has no named locks') == 1
