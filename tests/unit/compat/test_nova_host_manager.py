"""What the module of Nova's host manager has besides."""

import datetime

import pytest

from nova_sched.compat.nova import host_manager


class Racked(host_manager.HostState):
    """Takes a place in its rack with each instance."""

    places = 1

    @host_manager.set_update_time_on_success
    def consume_from_request(self, spec_obj):
        """Consume, written as in Nova."""
        if not self.places:
            raise RuntimeError('the rack is full')
        self.places -= 1


def test_consumption_sets_the_time_of_the_update():
    state = Racked('h', 'n')
    state.consume_from_request(None)

    assert state.places == 0
    assert datetime.datetime.now(datetime.UTC) - state.updated < (
        datetime.timedelta(minutes=1))


def test_a_decorated_method_keeps_its_name_and_words():
    found = Racked.consume_from_request
    assert found.__name__ == 'consume_from_request'
    assert found.__doc__ == 'Consume, written as in Nova.'


def test_consumption_that_fails_is_told(caplog):
    state = Racked('h', 'n')
    state.places = 0
    state.consume_from_request(None)

    assert state.updated is None
    assert 'Error: the rack is full' in caplog.text


def test_a_read_only_dict_reads_as_a_dict():
    made = host_manager.ReadOnlyDict({'a': 1})

    assert (made['a'], dict(made), made == {'a': 1}, len(made)) == (
        1, {'a': 1}, True, 1)
    assert not host_manager.ReadOnlyDict()


@pytest.mark.parametrize('change', [
    lambda made: made.update(b=2), lambda made: made.pop('a'),
    lambda made: made.clear(), lambda made: made.popitem(),
    lambda made: made.__setitem__('a', 2), lambda made: made.__delitem__('a'),
    lambda made: made.setdefault('b', 1)])
def test_a_read_only_dict_is_not_changed(change):
    made = host_manager.ReadOnlyDict({'a': 1})

    with pytest.raises(TypeError, match='cannot be changed'):
        change(made)
    assert made == {'a': 1}


def test_a_metric_of_kilo_has_its_parts():
    assert host_manager.MetricItem(1.0, None, 'cpu').source == 'cpu'
