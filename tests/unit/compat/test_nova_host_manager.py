"""Functions and classes of Nova's module of the host manager."""

import datetime

import pytest

from nova_sched.compat.nova import host_manager


class Racked(host_manager.HostState):
    """Uses a place of its rack for each instance."""

    places = 1

    @host_manager.set_update_time_on_success
    def consume_from_request(self, spec_obj):
        """Consume, written as in Nova."""
        if not self.places:
            raise RuntimeError('the rack is full')
        self.places -= 1


def test_consumption_sets_the_update_time():
    state = Racked('h', 'n')
    state.consume_from_request(None)

    assert state.places == 0
    assert datetime.datetime.now(datetime.UTC) - state.updated < (
        datetime.timedelta(minutes=1))
    assert Racked.consume_from_request.__name__ == 'consume_from_request'
    assert Racked.consume_from_request.__doc__ == (
        'Consume, written as in Nova.')


def test_failed_consumption_is_logged(caplog):
    state = Racked('h', 'n')
    state.places = 0
    state.consume_from_request(None)

    assert state.updated is None
    assert 'Error: the rack is full' in caplog.text


@pytest.mark.parametrize('change', [
    lambda made: made.update(b=2), lambda made: made.pop('a'),
    lambda made: made.clear(), lambda made: made.popitem(),
    lambda made: made.__setitem__('a', 2), lambda made: made.__delitem__('a'),
    lambda made: made.setdefault('b', 1)])
def test_read_only_dict_is_read_and_not_changed(change):
    made = host_manager.ReadOnlyDict({'a': 1})

    with pytest.raises(TypeError, match='cannot be changed'):
        change(made)
    assert (made['a'], dict(made), made == {'a': 1}, len(made)) == (
        1, {'a': 1}, True, 1)
    assert not host_manager.ReadOnlyDict()
