"""Weights by row-wise weighers, compared with a plain implementation."""

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from nova_sched import weights
from nova_sched.scheduler.weights import BaseHostWeigher
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request

ANY = settings(max_examples=60, deadline=None)
UUIDS, NAMES, CELLS = ['m1', 'm2', 'm3', 'm4'], ['a', 'b', 'c'], ['1', '2']
NUMBERS = st.sampled_from([-7.0, -1.0, 0.0, 0.5, 1.0, 3.0, 1000000.0])
BOUNDS = st.sampled_from([None, -1.0, 0.0, 2.0])


def a_weigher(values, multipliers, low, high):
    """A weigher with the value values[n] for host number n."""
    class Given(BaseHostWeigher):
        minval, maxval = low, high

        def _weigh_object(self, host_state, weight_properties):
            return values[host_state.num_instances]

        def weight_multiplier(self, host_state):
            return multipliers[host_state.num_instances]

    return Given()


def plainly(values, multipliers, low, high):
    """The scores of one weigher, host by host."""
    if low is not None:
        values = [max(value, low) for value in values]
    if high is not None:
        values = [min(value, high) for value in values]
    low = min(values) if low is None else low
    high = max(values) if high is None else high
    if low == high:
        return [0.0] * len(values)
    return [multiplier * ((value - low) / (high - low))
            for value, multiplier in zip(values, multipliers, strict=True)]


@given(data=st.data(), count=st.integers(2, 5))
@ANY
def test_weights_are_sums_of_scores_best_first(data, count):
    columns = st.lists(NUMBERS, min_size=count, max_size=count)
    given_ = data.draw(st.lists(
        st.tuples(columns, columns, BOUNDS, BOUNDS).filter(
            lambda one: None in one[2:] or one[2] <= one[3]), max_size=3))
    block = hosts(*(a_host(num_instances=n) for n in range(count)))

    weighed = weights.weigh(
        [a_weigher(*one) for one in given_], block, a_request())

    sums = [0.0] * count
    for one in given_:
        sums = [total + score for total, score
                in zip(sums, plainly(*one), strict=True)]
    best_first = sorted(range(count), key=lambda row: -sums[row])
    assert weighed.rows.tolist() == best_first
    assert weighed.weights.tolist() == [sums[row] for row in best_first]
