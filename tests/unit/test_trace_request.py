"""How much of the code one request runs, in figures of no machine."""

import functools
import pathlib

import pytest

from tools import trace_request

#: The most that a plain request may take, by whether Placement offers hosts.
MOST = {
    True: {'files': 69, 'rules': 15, 'functions': 507, 'calls': 1376,
           'hops': 751},
    False: {'files': 50, 'rules': 16, 'functions': 355, 'calls': 1109,
            'hops': 625},
}

traced = functools.cache(trace_request.traced)


@pytest.mark.parametrize('placement', MOST, ids=[
    'behind Placement', 'without Placement'])
def test_a_plain_request_makes_at_most_so_many_calls(placement):
    """A change that takes more of any says why; one that takes less lowers
    the figure, here and in DESIGN.md.
    """
    figures, most = traced(placement).figures, MOST[placement]

    assert figures == {name: min(figures[name], most[name]) for name in most}


def test_the_request_is_decided_on_the_copy_of_placement():
    trace = traced(True)

    assert 'placement/mirror/providers.py' in trace.files
    assert '_list' not in {code.co_name for _, _, code in trace.calls}


def test_the_request_is_decided_without_placement():
    assert not [name for name in traced(False).files
                if name.startswith('placement/')]


class TestCalls:
    """What counts as a call."""

    @pytest.fixture
    def names(self):
        """Function: the names of what is called when another one is."""
        def names(function):
            trace = trace_request.Trace(pathlib.Path(__file__).parent)
            with trace.recording():
                function()
            return [code.co_name for _, _, code in trace.calls]
        return names

    def test_is_a_function_that_is_entered(self, names):
        def outer():
            inner()
            inner()

        def inner():
            len('of another package')

        assert names(outer) == ['outer', 'inner', 'inner']

def test_a_hop_is_a_call_from_another_file():
    trace = trace_request.Trace()
    trace.calls = [(None, 'door.py', 1), ('door.py', 'door.py', 2),
                   ('door.py', 'driver.py', 3), ('driver.py', 'door.py', 1)]

    assert trace.figures['hops'] == 2
