"""What tests of plug-ins under Nova's names share."""

import sys

import pytest

from nova_sched.plugins import nova_names
from nova_sched.plugins.nova import conf as nova_conf
from tests.builders import rules
from tests.builders import wild


@pytest.fixture
def wild_plug_ins(monkeypatch):
    """The modules of tests/data can be imported, anew."""
    before = {*sys.modules}
    monkeypatch.syspath_prepend(wild.DATA)
    yield
    for name in {*sys.modules} - before:
        if name.startswith('wild_'):
            del sys.modules[name]
    nova_conf.follow(rules.a_conf())


@pytest.fixture
def nova_names_anew():
    """The names, provided; nothing is imported by them yet."""
    def take():
        return {name: sys.modules.pop(name) for name in list(sys.modules)
                if name.partition('.')[0] == 'nova'}
    kept = take()
    nova_names.provide(rules.a_conf())
    yield
    take()
    sys.modules.update(kept)
