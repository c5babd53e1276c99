"""Properties of queries to Placement, for any request."""

import re

from hypothesis import given
from hypothesis import strategies as st

from nova_sched import exception
from nova_sched import objects
from nova_sched.scheduler import utils as queries
from nova_sched.scheduler.utils import Group
from nova_sched.scheduler.utils import ResourceRequest
from tests.builders.examples import examples
from tests.builders.queries import NODE
from tests.builders.queries import parameters
from tests.builders.queries import resource_requests
from tests.builders.requests import a_destination
from tests.builders.requests import a_request
from tests.properties.strategies import one_of_each

ANY = examples(200)

_CLASSES = st.sampled_from(['VCPU', 'PCPU', 'MEMORY_MB', 'CUSTOM_A', 'VGPU'])
_TRAITS = st.sets(st.sampled_from(
    ['CUSTOM_A', 'B', 'C', 'HW_CPU_HYPERTHREADING', 'OWNER_NOVA',
     'COMPUTE_STATUS_DISABLED']), max_size=3)
_AGGREGATES = st.lists(st.sampled_from('abcd'), min_size=1, max_size=3,
                       unique=True)
_SUFFIXES = st.sampled_from(['', '', '1', '2', '_x', 'B'])
_EXTRA_SPECS = st.dictionaries(
    st.builds('resources{}:{}'.format, _SUFFIXES, _CLASSES)
    | st.builds('trait{}:{}'.format, _SUFFIXES, st.sampled_from('AB'))
    | st.sampled_from(['hw:cpu_policy', 'group_policy', 'hw:pmem']),
    st.sampled_from(['0', '1', '2', 'required', 'forbidden', 'dedicated',
                     'none', 'isolate', 'x']), max_size=5)
_GROUPS = st.lists(st.builds(
    objects.RequestGroup, requester_id=st.sampled_from(['p1', 'p2', '3']),
    resources=st.dictionaries(_CLASSES, st.integers(0, 2), max_size=2),
    required_traits=st.builds(set.union, _TRAITS, st.sets(
        st.sampled_from(['in:A,B', 'in:C']), max_size=1)),
    forbidden_traits=_TRAITS,
    aggregates=st.lists(_AGGREGATES, max_size=2),
    forbidden_aggregates=st.sets(st.sampled_from('ef'), max_size=2),
    in_tree=st.sampled_from([None, 'tree'])), max_size=2)
_PARAMS = st.builds(
    objects.RequestLevelParams, root_required=_TRAITS, root_forbidden=_TRAITS,
    same_subtree=st.lists(st.just(['1', 'p1']), max_size=1))
_DESTINATIONS = st.none() | st.builds(
    a_destination,
    aggregates=st.none() | st.lists(_AGGREGATES.map(','.join), max_size=2),
    forbidden_aggregates=st.none() | st.sets(st.sampled_from('gh')))
_SIZES = one_of_each(vcpus=[4, 0], memory_mb=[512, 0], root_gb=[0, 5],
                     swap=[0, 1], is_bfv=[False, True],
                     hints=[None, {'group': ['g']}])


@st.composite
def specs(draw):
    """A RequestSpec with any parts of a query."""
    return a_request(
        **draw(_SIZES), extra_specs=draw(_EXTRA_SPECS),
        requested_resources=draw(_GROUPS),
        request_level_params=draw(_PARAMS),
        requested_destination=draw(_DESTINATIONS))


def asked(spec_obj, target_node=None):
    """Its queries; none if it is refused."""
    try:
        return resource_requests(spec_obj, target_node=target_node)
    except exception.InvalidInput:
        return []


def read(text):
    """Parse a query string into a ResourceRequest."""
    found = ResourceRequest()
    for name, values in parameters(text).items():
        _read_parameter(found, name, values)
    return found


def _read_parameter(found, name, values):
    if name in ('limit', 'group_policy'):
        setattr(found, name, int(values[0]) if name == 'limit' else values[0])
    elif name == 'same_subtree':
        found.same_subtree = [value.split(',') for value in values]
    elif name == 'root_required':
        root = Group()
        _read_traits(root, values)
        found.root_required, found.root_forbidden = (
            root.required, root.forbidden)
    else:
        kind, suffix = re.fullmatch(
            '(resources|required|member_of|in_tree)(.*)', name).groups()
        _READERS[kind](found.groups.setdefault(suffix, Group()), values)


def _read_resources(group, values):
    pairs = [pair.split(':') for pair in values[0].split(',')]
    group.resources = {name: int(amount) for name, amount in pairs}


def _read_traits(group, values):
    group.required = {value for value in values if value.startswith('in:')}
    for value in set(values) - group.required:
        for trait in value.split(','):
            (group.forbidden if trait.startswith('!') else group.required
             ).add(trait.removeprefix('!'))


def _read_aggregates(group, values):
    for value in values:
        forbids, _, uuids = value.partition('in:')
        if forbids:
            group.forbidden_aggregates = set(uuids.split(','))
        else:
            group.member_of.append(uuids.split(','))


def _read_tree(group, values):
    group.in_tree, = values


_READERS = {'resources': _read_resources, 'required': _read_traits,
            'member_of': _read_aggregates, 'in_tree': _read_tree}


def in_order(request):
    """The same request with sorted conditions on aggregates."""
    for group in request.groups.values():
        group.member_of = sorted(map(sorted, group.member_of))
    return request


@given(spec_obj=specs(), target_node=st.sampled_from([None, NODE]))
@ANY
def test_parsed_query_equals_its_request(spec_obj, target_node):
    for request in asked(spec_obj, target_node):
        assert in_order(read(request.query('1.39'))) == in_order(request)


@given(spec_obj=specs())
@ANY
def test_query_has_no_empty_value_and_no_amount_of_0(spec_obj):
    for request in asked(spec_obj):
        for name, values in parameters(request.query('1.39')).items():
            assert all(values), name
            assert not name.startswith('resources') or not re.search(
                ':0(,|$)', values[0])


@given(spec_obj=specs())
@ANY
def test_equal_requests_have_equal_queries(spec_obj):
    def texts():
        return [request.query(request.minimum_version())
                for request in asked(spec_obj)]

    assert texts() == texts()


@given(spec_obj=specs())
@ANY
def test_queries_do_not_change_the_request(spec_obj):
    before = spec_obj.obj_to_primitive()

    asked(spec_obj)

    assert spec_obj.obj_to_primitive() == before


@given(spec_obj=specs(), target_node=st.sampled_from([None, NODE]))
@ANY
def test_versions_since_the_minimum_can_express_the_request(
        spec_obj, target_node):
    """Amounts, traits and aggregates of groups."""
    for request in asked(spec_obj, target_node):
        oldest = queries.FORMS.index(request.minimum_version())
        for form in queries.FORMS[oldest:]:
            parsed = read(request.query(form)).groups
            for suffix, group in request.groups.items():
                assert parsed[suffix].resources == group.resources
                assert parsed[suffix].required >= group.required
                assert parsed[suffix].forbidden >= group.forbidden
                assert len(parsed[suffix].member_of) == len(group.member_of)
