"""Classes that an installed package names by entry points."""

import abc

import pytest

from nova_sched import exception
from nova_sched.plugins import classes


class Base(abc.ABC):
    """The base class that the classes must have."""

    def __init__(self, conf):
        self.conf = conf

    def check_set_up(self):
        """Accept any set-up."""

    @abc.abstractmethod
    def size(self):
        """To be defined in subclasses."""


NAMESPACE = 'nova_sched.test_racks'
KIND = classes.Kind('[racks] kind', NAMESPACE, 'rack', Base, ', with a size')
NOVAS = classes.Kind('[racks] kind', NAMESPACE, 'rack', Base,
                     novas='nova.test_racks')


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A package of which the entry points full and theirs are right."""
    (tmp_path / 'racks.py').write_text(
        f'from {__name__} import Base\n'
        'class Full(Base):\n    size = 7\n'
        'class Half(Base):\n    pass\n'
        'class Alien:\n    size = 7\n'
        'class Broken(Base):\n'
        '    size = 7\n'
        '    def __init__(self, conf):\n        raise OSError("no racks")\n')
    (tmp_path / 'torn_racks.py').write_text('1 / 0\n')
    info = tmp_path / 'racks-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text(
        'Metadata-Version: 2.1\nName: racks\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text(
        f'[{NAMESPACE}]\nfull = racks:Full\nhalf = racks:Half\n'
        'alien = racks:Alien\ntorn = torn_racks:Rack\n'
        'broken = racks:Broken\n'
        '[nova.test_racks]\nfull = torn_racks:Rack\ntheirs = racks:Full\n'
        'built_in = nova.scheduler.chance:Rack\n'
        'fake = nova.tests.fakes:Rack\nbeside = nova.myproject.racks:Rack\n')
    monkeypatch.syspath_prepend(tmp_path)


def test_classes_are_found_by_name():
    assert KIND.names() == ['alien', 'broken', 'full', 'half', 'torn']
    assert KIND.load('full').__name__ == 'Full'
    assert KIND.make('full', 'the options').conf == 'the options'


@pytest.mark.parametrize(('load', 'name', 'hint'), [
    (KIND.load, 'ful', 'no such rack; did you mean full?'),
    (KIND.load, 'nova.scheduler.racks.ful',
     'no such rack; did you mean full?'),
    (KIND.load, 'xyz',
     'no such rack; choose from alien, broken, full, half, torn'),
    *((KIND.load, name, 'is no rack; it must be a class derived from '
       f'{__name__}.Base, with a size') for name in ('alien', 'half')),
    (KIND.load, 'torn', f'its entry point in {NAMESPACE} cannot be imported: '
     "ZeroDivisionError('division by zero')"),
    (lambda name: KIND.make(name, None), 'broken',
     "cannot be set up: OSError('no racks')"),
    (NOVAS.load, 'built_in', 'no such rack')])
def test_wrong_class_is_refused_with_the_reason(load, name, hint):
    with pytest.raises(exception.ConfigurationError) as refused:
        load(name)

    text = str(refused.value)
    assert text.startswith(f'[racks] kind = {name!r}: {hint}')
    assert name == 'built_in' or text.endswith(hint)


def test_third_party_s_classes_in_nova_s_namespace_count():
    """After the classes in this service's namespace, without Nova's own."""
    assert NOVAS.load('theirs').__name__ == 'Full'
    assert NOVAS.load('full').__name__ == 'Full'
    assert not {'built_in', 'fake'} & {*NOVAS.names()}
    assert 'beside' in NOVAS.names()
