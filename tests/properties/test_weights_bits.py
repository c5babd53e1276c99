"""Weights are bit for bit those of the formula, for any numbers."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from nova_sched import weights
from tests.builders.examples import examples
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request

MANY = examples(300)
MOST = 4
BLOCK = hosts(*(a_host() for _ in range(MOST)))
NUMBERS = st.sampled_from([
    0.0, -0.0, 1.0, -1.0, 0.1, 3.0, 5e-324, 1e300, 1.7e308, -1.7e308,
    float('inf'), float('-inf'), float('nan')])
BOUNDS = st.sampled_from([None, None, 0, -1.0, 2, float('inf'),
                          float('nan')])


def columns(count):
    """Raw values or multipliers, possibly the same for all hosts."""
    return st.lists(NUMBERS, min_size=count, max_size=count) | NUMBERS.map(
        lambda number: [number] * count)


def multipliers(count):
    """One number of any type for all hosts, or a number for each."""
    return (NUMBERS | NUMBERS.map(np.float64) | columns(count).map(np.array)
            | st.sampled_from([0, 1, -2, np.float32(3), np.float32('inf')]))


class Given(weights.BaseWeigher):
    """A weigher with given values and multiplier."""

    def __init__(self, values, factor, minval, maxval):
        self.values, self.factor = np.array(values), factor
        self.minval, self.maxval = minval, maxval

    def raw(self, hosts, spec_obj):
        return self.values

    def multipliers(self, hosts):
        return self.factor


def scaled(values, minval, maxval):
    """Raw values scaled to 0 to 1."""
    low = np.float64(values.min() if minval is None else minval)
    high = np.float64(values.max() if maxval is None else maxval)
    if low == high:
        return np.zeros(len(values))
    return (values - low) / (high - low)


def bits(numbers):
    """The bits of numbers, with one representation of NaN."""
    return np.where(np.isnan(numbers), np.nan, numbers).tobytes()


@given(data=st.data(), count=st.integers(2, MOST))
@MANY
def test_weights_are_sums_of_multipliers_times_scaled_values(
        data, count):
    weighers = [Given(*parts) for parts in data.draw(st.lists(st.tuples(
        columns(count), multipliers(count), BOUNDS, BOUNDS), max_size=4))]
    block = BLOCK.snapshot.block(np.arange(count))

    weighed = weights.weigh(weighers, block, a_request())

    sums = np.zeros(count)
    with np.errstate(all='ignore'):
        for i, one in enumerate(weighers):
            normalized = scaled(one.values, one.minval, one.maxval)
            sums += one.factor * normalized
            assert bits(weighed.normalized[i]) == bits(normalized)
    order = np.argsort(-sums, kind='stable')
    assert weighed.order.tolist() == order.tolist()
    assert bits(weighed.weights) == bits(sums[order])


@given(values=st.lists(NUMBERS, max_size=9), low=BOUNDS, high=BOUNDS)
@MANY
def test_values_are_clamped_as_by_numpy(values, low, high):
    raw = np.array(values, dtype=np.float64)
    weigher = Given(raw, 1.0, low, high)

    expected = raw if low is high is None else np.clip(raw, low, high)
    assert bits(weigher.clamp(raw)) == bits(expected)


def test_text_as_multiplier_fails_the_request():
    """Also if all values are equal."""
    weigher = Given([0.0] * MOST, '2', None, None)

    with pytest.raises(TypeError, match='multiply'):
        weights.weigh([weigher], BLOCK, a_request())
