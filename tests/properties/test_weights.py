"""Weights on any hosts, against a plain reading of the rules."""

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import pytest

from nova_sched import weights
from nova_sched.scheduler.weights import BaseHostWeigher
from nova_sched.scheduler.weights import affinity
from nova_sched.scheduler.weights import cross_cell
from nova_sched.scheduler.weights import image_props
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_destination
from tests.builders.requests import a_group
from tests.builders.requests import a_request
from tests.builders.rules import configured

ANY = settings(max_examples=60, deadline=None)
UUIDS, NAMES, CELLS = ['m1', 'm2', 'm3', 'm4'], ['a', 'b', 'c'], ['1', '2']
NUMBERS = st.sampled_from([-7.0, -1.0, 0.0, 0.5, 1.0, 3.0, 1000000.0])
BOUNDS = st.sampled_from([None, -1.0, 0.0, 2.0])
PROPERTIES = st.dictionaries(
    st.sampled_from(['os_type', 'hw_vm_mode', 'architecture', 'trait:A']),
    st.sampled_from(['linux', 'hvm', 'pv', 'x86_64', 'required', '']))


@st.composite
def blocks(draw):
    """Hosts in two cells, with instances of different images on them."""
    records = [a_host(name, cell_uuid=draw(st.sampled_from(CELLS)))
               for name in NAMES]
    return hosts(*records, running=draw(st.dictionaries(
        st.sampled_from(UUIDS), st.sampled_from(NAMES), min_size=len(UUIDS))),
        images=draw(st.dictionaries(st.sampled_from(UUIDS), PROPERTIES)))


@st.composite
def requests(draw):
    """A request with what these weighers look at."""
    return a_request(
        group=draw(st.none() | st.builds(
            a_group, st.sampled_from(['soft-affinity', 'affinity',
                                      'soft-anti-affinity']),
            members=st.lists(st.sampled_from([*UUIDS, 'nobody'])))),
        requested_destination=draw(st.none() | st.builds(
            a_destination, cell=st.sampled_from(CELLS),
            allow_cross_cell_move=st.booleans())),
        image_properties=draw(st.fixed_dictionaries({}, optional={
            'os_type': st.just('linux'), 'hw_vm_mode': st.just('xen'),
            'hw_architecture': st.just('x86_64'),
            'traits_required': st.just(['A'])})))


@pytest.mark.parametrize('weigher', [
    configured(affinity.ServerGroupSoftAffinityWeigher),
    configured(affinity.ServerGroupSoftAntiAffinityWeigher),
    configured(cross_cell.CrossCellWeigher),
    configured(image_props.ImagePropertiesWeigher,
               image_props_weight_multiplier=1.0),
    configured(image_props.ImagePropertiesWeigher,
               image_props_weight_multiplier=1.0,
               image_props_weight_setting=['os_type=2', 'hw_vm_mode=-0.5']),
], ids=lambda weigher: type(weigher).__name__)
@given(block=blocks(), spec=requests(), data=st.data())
@ANY
def test_a_host_gets_its_value_alone_and_among_any_others(
        weigher, block, spec, data):
    some = data.draw(st.permutations(range(len(block))))[:2]
    column = weigher.raw(block, spec)

    assert column.tolist() == [weigher._weigh_object(state, spec)
                               for state in block.states()]
    assert column[some].tolist() == weigher.raw(
        block.snapshot.block(block.rows[some]), spec).tolist()


def a_weigher(values, multipliers, low, high):
    """A weigher that values host number n at values[n]."""
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
def test_weights_are_the_sum_of_the_scores_best_first(data, count):
    columns = st.lists(NUMBERS, min_size=count, max_size=count)
    given_ = data.draw(st.lists(
        st.tuples(columns, columns, BOUNDS, BOUNDS).filter(
            lambda one: None in one[2:] or one[2] <= one[3]), max_size=3))
    block = hosts(*(a_host(num_instances=n) for n in range(count)))

    weighed = weights.WeightHandler().weigh(
        [a_weigher(*one) for one in given_], block, a_request())

    sums = [0.0] * count
    for one in given_:
        sums = [total + score for total, score
                in zip(sums, plainly(*one), strict=True)]
    best_first = sorted(range(count), key=lambda row: -sums[row])
    assert weighed.rows.tolist() == best_first
    assert weighed.weights.tolist() == [sums[row] for row in best_first]
