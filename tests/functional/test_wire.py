"""Each captured request of both eras gets an answer of the captured shape.

The captured bytes go to a daemon with new ids and another reply queue; it
decides on the four hosts of the captured schedulers.  The shape of an answer
is its nesting, keys, object names and versions and JSON types, and of a
failure its class, module and texts.  The picked host is not part of it.

The tables below have the intended differences and their reasons.
"""

import json

import pytest

from nova_sched import exception
from tests.functional import broker
from tests.functional import captures

pytestmark = pytest.mark.real

# -- Intended differences from the captured answers, and why ----------------

# Answered as the named capture; the captured scheduler failed.
ANSWERED_AS = {
    # Nova 34 no longer reads what older conductors send; we do.
    '34-kilo-style-call': 'queens-kilo-style-call',
    '34-mitaka-style-call': 'queens-mitaka-style-call',
    '34-cap-4-2-legacy-dicts-group': 'queens-cap-4-2-legacy-dicts-group',
    # Nova 34 queried Neutron, which the captured cloud did not have.
    '34-port-resources-networks': '34-simple-flavor',
    # Placement knew that no host has 500 VCPUs.  Here is no Placement, and no
    # filter above counts VCPUs.
    '34-no-valid-host-placement': '34-simple-flavor',
    'queens-no-valid-host-placement': 'queens-simple-flavor',
}

# Nova fails with an internal error; we name the missing argument.
INVALID_INPUT = {
    'err-no-args': 'request_spec.instance_type: is missing',
    'err-spec-none': 'spec_obj = None: must be a RequestSpec object',
}

# No Selection has an allocation request: the field is the text 'null', its
# version null.  The optional nova_object.changes, which no client reads in an
# answer, is left out.
NOT_CLAIMED = {'allocation_request_version': None}

# Texts of failures begin as captured, except for these; texts of NoValidHost
# are equal.
TEXTS = {
    # Nova 34's words for it, to callers of all eras.
    'queens-force-hosts-unknown':
        'No valid host was found. No such host - host: nosuchhost node: None ',
    # Python 2 did not name the class.
    'queens-err-bad-args':
        "SchedulerManager.select_destinations() got an unexpected keyword "
        "argument 'bogus'",
}

# ---------------------------------------------------------------------------


class Bench:
    """A daemon on one era's cloud, and a wire to it."""

    def __init__(self, era, daemon, wire):
        self.era, self.daemon, self.wire = era, daemon, wire


@pytest.fixture(scope='module')
def bench(request, tmp_path_factory):
    """The Bench of an era, which is the parameter."""
    with (captures.open_stage(
            tmp_path_factory.mktemp('wire'), request.param,
            # No call counts for the next one.
            nova_sched__pick_lifetime=0,
            nova_sched__no_valid_host_text='nova',
            # Logs the ids of received messages.
            DEFAULT__debug=True, DEFAULT__default_log_levels=(
                'amqp=INFO,oslo_messaging._drivers.amqpdriver=DEBUG'),
            filter_scheduler__enabled_filters=captures.FILTERS) as stage,
          broker.wire(stage.transport_url) as wire):
        yield Bench(request.param, stage.daemon(), wire)


def each_era(argument, kind):
    """Parametrize a test with each era's bench and its captures."""
    return pytest.mark.parametrize(
        ('bench', argument),
        [pytest.param(era, name, id=name) for era in captures.ERAS
         for name in captures.names(era, kind)],
        indirect=['bench'], scope='module')


@each_era('call', captures.is_call)
def test_captured_call_gets_an_answer_of_the_captured_shape(bench, call):
    """In its envelope, properties, and result or failure."""
    captured = captures.load(call)
    request, reply = bench.wire.call(captured['request'])
    wanted = _wanted(call)
    assert reply['properties'] == captured['replies'][0]['properties']
    assert reply['headers'] == captured['replies'][0]['headers']
    assert reply['decoded']['oslo.version'] == '2.0'
    inner = reply['decoded']['oslo.message']
    assert inner.keys() == wanted.keys()
    assert inner['_msg_id'] == request['_msg_id']
    assert inner['ending'] is True
    assert shape(inner['result']) == shape(wanted['result'])
    if wanted['failure'] is None:
        assert inner['failure'] is None
        _check_selections(bench.era, inner['result'])
    else:
        _check_failure(call, json.loads(inner['failure']),
                       json.loads(wanted['failure']))


@each_era('cast', captures.is_cast)
def test_captured_cast_causes_no_error(bench, cast):
    """The service answers the next call."""
    before = bench.daemon.lines(' ERROR ')
    unique_id = bench.wire.cast(captures.load(cast)['request'])
    bench.daemon.wait_for_lines(unique_id)
    name = f'{bench.era}-simple-flavor'
    _, reply = bench.wire.call(captures.load(name)['request'])
    assert reply['decoded']['oslo.message']['failure'] is None
    # Earlier calls with wrong arguments have logged errors.
    assert bench.daemon.lines(' ERROR ') == before


@pytest.mark.parametrize('name', [
    f'{era}-cap-4-4-objects-refused' for era in captures.ERAS])
def test_capped_client_refuses_like_the_captured_client(stage, name):
    """It sends nothing; no scheduler runs here."""
    caller = stage.client(upgrade_levels__scheduler='4.4')
    with pytest.raises(
            exception.SelectionObjectsWithOldRPCVersionNotSupported) as raised:
        caller.ask()
    assert str(raised.value) == captures.load(name)['client_saw']['str']


# -- Expected answers --------------------------------------------------------

def shape(value):
    """A JSON value with types in place of values.

    Names and versions of objects stay.  A list of plain values, such as
    lines of a traceback, becomes the list of its types.
    """
    if isinstance(value, dict):
        return {key: part if key in ('nova_object.name',
                                     'nova_object.namespace',
                                     'nova_object.version') else shape(part)
                for key, part in value.items()}
    if isinstance(value, list):
        parts = [shape(part) for part in value]
        if all(isinstance(part, str) for part in parts):
            return sorted(set(parts))
        return parts
    return type(value).__name__


def _wanted(name):
    """The inner message of the expected reply, by the tables above."""
    name = ANSWERED_AS.get(name, name)
    case = name.partition('-')[2]
    reply = captures.load(name)['replies'][0]['decoded']['oslo.message']
    result = reply['result']
    if isinstance(result, list):
        result = list(map(_answer, result))
    failure = reply['failure']
    if case in INVALID_INPUT:
        failure = json.dumps(_invalid_input(INVALID_INPUT[case]))
    return {**reply, 'result': result, 'failure': failure}


def _answer(value):
    """An instance's captured answer with NOT_CLAIMED applied."""
    if isinstance(value, list):
        return list(map(_answer, value))
    if not isinstance(value, dict):
        return value
    answer = {key: _answer(part) for key, part in value.items()
              if key != 'nova_object.changes'}
    answer.update({key: new for key, new in NOT_CLAIMED.items()
                   if key in answer})
    return answer


def _invalid_input(reason):
    text = f'Invalid input received: {reason}'
    return {'class': 'InvalidInput', 'module': 'nova.exception',
            'message': text, 'tb': [''], 'args': [text],
            'kwargs': {'reason': reason, 'code': 400}}


def _check_failure(name, failure, wanted):
    assert shape(failure) == shape(wanted)
    assert failure['class'] == wanted['class']
    assert failure['module'] == wanted['module']
    assert failure['args'] == [failure['message']]
    message = TEXTS.get(name, wanted['message'])
    assert failure['message'].startswith(message)
    if failure['class'] == 'NoValidHost':
        assert failure['message'] == message
    if 'code' in failure['kwargs']:
        assert failure['kwargs']['code'] == wanted['kwargs']['code']
        assert failure['message'].endswith(failure['kwargs']['reason'])


def _check_selections(era, result):
    """Check that fields of hosts equal the database's."""
    cloud = captures.cloud(era)
    known = {node['host']: node for node in cloud['compute_nodes']}
    for chosen in result if isinstance(result, list) else []:
        for answer in chosen if isinstance(chosen, list) else [chosen]:
            if 'host' in answer:
                assert (known[answer['host']]['hypervisor_hostname']
                        == answer['nodename'])
                continue
            data = answer['nova_object.data']
            node = known[data['service_host']]
            assert data['nodename'] == node['hypervisor_hostname']
            assert data['compute_node_uuid'] == node['uuid']
            assert data['cell_uuid'] == cloud['cells'][0]['uuid']
            assert data['allocation_request'] == 'null'
            if answer['nova_object.version'] == '1.1':
                east = node['host'] in cloud['aggregates'][0]['hosts']
                assert data['availability_zone'] == (
                    'east' if east else 'nova')
