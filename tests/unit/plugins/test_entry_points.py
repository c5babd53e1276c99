"""Classes that an installed package names by an entry point."""

import abc

import pytest

from nova_sched import exception
from nova_sched.plugins import classes


class Base(abc.ABC):
    """What is looked for."""

    def __init__(self, conf):
        self.conf = conf

    def check_set_up(self):
        """Nothing is wrong."""

    @abc.abstractmethod
    def size(self):
        """What it must have."""


NAMESPACE = 'nova_sched.test_racks'
KIND = classes.Kind('[racks] kind', NAMESPACE, 'rack', Base, ', with a size')


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A package with four entry points, one of which is right."""
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
        'broken = racks:Broken\n')
    monkeypatch.syspath_prepend(tmp_path)
    return info


def refusal(load, name, *args):
    with pytest.raises(exception.ConfigurationError) as refused:
        load(name, *args)
    text = str(refused.value)
    assert text.startswith(f'[racks] kind = {name!r}: ')
    return text.partition(': ')[2]


def test_are_found_by_the_names_of_the_package():
    assert KIND.names() == ['alien', 'broken', 'full', 'half', 'torn']
    assert KIND.load('full').__name__ == 'Full'
    assert KIND.make('full', 'the options').conf == 'the options'


@pytest.mark.parametrize(('name', 'words'), [
    ('ful', 'no such rack; did you mean full?'),
    ('nova.scheduler.racks.ful', 'no such rack; did you mean full?'),
    ('xyz', 'no such rack; choose from alien, broken, full, half, torn'),
    *((name, f'is no rack; it must be a class derived from {__name__}.Base, '
             'with a size') for name in ('alien', 'half')),
    ('torn', f'its entry point in {NAMESPACE} cannot be imported: '
             "ZeroDivisionError('division by zero')")])
def test_that_are_wrong_say_what_is_wrong(name, words):
    assert refusal(KIND.load, name) == words


def test_that_cannot_be_set_up_say_why():
    assert refusal(KIND.make, 'broken', None) == (
        "cannot be set up: OSError('no racks')")


class TestOfNovasNamespace:
    """Those of third parties count, after ours."""

    KIND = classes.Kind('[racks] kind', NAMESPACE, 'rack', Base,
                        novas='nova.test_racks')

    @pytest.fixture(autouse=True)
    def novas(self, package):
        with (package / 'entry_points.txt').open('a') as points:
            points.write('[nova.test_racks]\nfull = torn_racks:Rack\n'
                         'theirs = racks:Full\n'
                         'built_in = nova.scheduler.chance:Rack\n'
                         'fake = nova.tests.fakes:Rack\n'
                         'beside = nova.myproject.racks:Rack\n')

    def test_are_found_by_their_names(self):
        assert self.KIND.load('theirs').__name__ == 'Full'

    def test_do_not_take_the_place_of_ours(self):
        assert self.KIND.load('full').__name__ == 'Full'

    def test_that_lead_to_nova_itself_are_none(self):
        names = self.KIND.names()
        assert not {'built_in', 'fake'} & {*names}
        assert 'beside' in names
        assert refusal(self.KIND.load, 'built_in').startswith('no such rack')
