"""Databases without named locks."""

import pytest

from nova_sched.db import engine
from nova_sched.db import named_locks
from nova_sched.db.named_locks import NamedLocks


@pytest.mark.parametrize(('url', 'kind'), [
    ('sqlite://', None), ('mysql+pymysql://u:p@127.0.0.1:1/d', None),
    ('sqlite://', 'mysql')], ids=[
        'no such locks', 'no answer', 'refused as by a cluster'])
def test_no_lock_is_held_with_one_warning(url, kind, caplog, monkeypatch):
    if kind:
        monkeypatch.setitem(named_locks._BY_DIALECT, 'sqlite',
                            named_locks._BY_DIALECT[kind])
    locks = NamedLocks(engine.Database(url))
    for _ in range(3):
        with locks.held('group g', 1) as is_held:
            assert not is_held

    assert caplog.text.count('has no named locks') == 1
    assert 'p@' not in caplog.text
