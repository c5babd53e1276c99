"""Each shape of request that was captured, made by Nova 34's own classes.

Its client classes send them over a real RabbitMQ, as objects of its own, and
make objects of its own of the answers.  The four hosts are those that the
captured scheduler had.  One Nova asks everything, and tests look at what it
got.
"""

import pytest

from tests.functional import captures
from tests.functional import conftest as functional
from tests.functional import test_wire as wire
from tests.interop.conftest import Nova

pytestmark = pytest.mark.real

#: The filters of the captured scheduler.
FILTERS = ('RetryFilter', 'AvailabilityZoneFilter', 'ComputeFilter',
           'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
           'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter',
           'NUMATopologyFilter', 'PciPassthroughFilter')
#: What [upgrade_levels] scheduler lets a client send, to conductors that are
#: not upgraded: without objects, without uuids, as dicts.
CAPS = ('4.4', '4.3', '4.2')


def sent(name):
    """A captured message: method, args, version."""
    return captures.load(f'34-{name}')['request']['decoded']['oslo.message']


def shapes(test):
    """Names of the captured messages for which a function says so."""
    return [name.partition('-')[2] for name in captures.names('34')
            if test(sent(name.partition('-')[2]))]


def is_request(message):
    return (message['method'] == 'select_destinations'
            and message['version'] == '4.5' and bool(
                message['args'].get('instance_uuids'))
            and message['args']['spec_obj'] is not None)


#: Made by the client classes as a conductor uses them.
REQUESTS = shapes(is_request)
#: What they do not say themselves: older releases, and what is wrong.
SAID = [name for name in shapes(lambda message: '_msg_id' in message)
        if name not in REQUESTS and not name.startswith(('cap', 'baseapi'))]
CASTS = shapes(lambda message: '_msg_id' not in message)


#: Where older words say something else: in a group of dicts its hosts count,
#: as they did when callers sent dicts, and later its members.
SAYS_OTHERWISE = {('server-group-anti-affinity', '4.2')}


@pytest.fixture(scope='module')
def stage(tmp_path_factory):
    with functional.open_stage(
            tmp_path_factory.mktemp('shapes'),
            # Each call is answered as if none had come before.
            nova_sched__pick_lifetime=0,
            # The captured compute services send no more heartbeats.
            DEFAULT__service_down_time=86400, DEFAULT__debug=True,
            filter_scheduler__enabled_filters=','.join(FILTERS)) as stage:
        stage.load(captures.cloud('34'))
        yield stage


@pytest.fixture(scope='module')
def daemon(stage):
    return stage.daemon()


@pytest.fixture(scope='module')
def answers(stage, daemon):
    """What Nova got: (shape, cap) -> answer."""
    nova, asked = Nova(stage.config_file('nova')), []

    def will(key, what, *args):
        asked.append(key)
        nova.will(what, *args)

    for name in CASTS:
        will((name, None), 'announce', sent(name)['method'],
             list(sent(name)['args'].values()))
    for name in REQUESTS:
        for cap in (None, *CAPS):
            will((name, cap), 'ask', sent(name)['args'], cap)
    for name in SAID:
        message = sent(name)
        will((name, None), 'say', message['method'], message['version'],
             message['args'])
    for cap in CAPS:
        will(('refused', cap), 'ask_for_objects',
             sent('simple-flavor')['args'], cap)
    will(('ping', None), 'ping', {'any': ['thing', None]})
    will(('backdoor port', None), 'backdoor_port', stage.conf.host)
    return dict(zip(asked, nova.answers(), strict=True))


def captured(name):
    """What the captured client got, of what ours is to be like."""
    name = wire.ANSWERED_AS.get(f'34-{name}', f'34-{name}')
    return captures.load(name)['client_saw']


def bare(value):
    """A result without what no client looks at, and no claims."""
    if isinstance(value, list):
        return list(map(bare, value))
    if not isinstance(value, dict):
        return value
    return {key: bare(part) for key, part in (value | {
        name: None for name in ('allocation_request_version',)
        if name in value}).items()
        if key not in ('nova_object.changes', 'class', 'module')}


def classes(value):
    """Names of the classes of all objects in a result: set."""
    if isinstance(value, list):
        return set().union(*map(classes, value))
    if not isinstance(value, dict):
        return set()
    own = {f'{value["module"]}.{value["class"]}'} if 'class' in value else (
        set())
    return own.union(*map(classes, value.values()))


def picks(result):
    """(host, node) of the chosen hosts, whatever form the result has."""
    found = []
    for chosen in result:
        if isinstance(chosen, list):
            data = chosen[0]['nova_object.data']
            found.append((data['service_host'], data['nodename']))
        else:
            found.append((chosen['host'], chosen['nodename']))
    return found


@pytest.mark.parametrize('name', [
    name for name in REQUESTS if captured(name)['ok']])
class TestRequest:
    def test_is_answered_in_the_shape_that_the_captured_client_got(
            self, answers, name):
        result = answers[name, None]['answer']

        assert wire.shape(bare(result)) == wire.shape(
            bare(captured(name)['result']))

    def test_is_answered_with_objects_of_nova(self, answers, name):
        found = classes(answers[name, None]['answer'])

        assert found <= {
            'nova.objects.selection.Selection',
            'nova.objects.numa.NUMATopologyLimits'}
        assert bool(found) == bool(sent(name)['args']['return_objects'])

    @pytest.mark.parametrize('cap', CAPS)
    def test_gets_the_same_hosts_in_the_words_of_older_clients(
            self, answers, name, cap):
        """One for each instance that they can tell of."""
        old, new = (picks(answers[name, level]['answer'])
                    for level in (cap, None))

        count = len(new) if cap == '4.4' else (
            sent(name)['args']['spec_obj']['nova_object.data'][
                'num_instances'])
        assert len(old) == count
        if (name, cap) not in SAYS_OTHERWISE:
            assert old[:len(new)] == new[:len(old)]


@pytest.mark.parametrize('cap', [None, *CAPS])
@pytest.mark.parametrize('name', [
    name for name in REQUESTS if not captured(name)['ok']])
def test_a_refusal_is_the_exception_of_nova_for_clients_of_all_ages(
        answers, name, cap):
    found = answers[name, cap]

    assert found['classes'] == captured(name)['mro']
    assert found['text'].startswith(captured(name)['str'].partition('\n')[0])
    assert found['reason'] in found['text']


@pytest.mark.parametrize('name', SAID)
def test_what_the_classes_do_not_say_is_answered_as_captured(answers, name):
    """Or what is wrong with it is told, by an exception that Nova knows."""
    found, wanted = answers[name, None], captured(name)
    if name in wire.INVALID_INPUT:
        assert found['classes'][1] == 'nova.exception.InvalidInput'
        assert wire.INVALID_INPUT[name] in found['text']
    elif wanted['ok']:
        assert wire.shape(bare(found['answer'])) == wire.shape(
            bare(wanted['result']))
    else:
        assert found['classes'] == wanted['mro']
        assert found['text'].startswith(wanted['str'].partition('\n')[0])


@pytest.mark.parametrize('cap', CAPS)
def test_clients_that_are_capped_do_not_ask_for_objects(answers, cap):
    """They know before they send anything."""
    assert answers['refused', cap]['error'] == (
        'SelectionObjectsWithOldRPCVersionNotSupported')


@pytest.mark.parametrize('name', CASTS)
def test_a_cast_is_sent_and_taken_without_complaint(answers, daemon, name):
    assert answers[name, None] == {'answer': None}
    method = sent(name)['method']
    assert not [line for line in daemon.lines(method) if ' ERROR ' in line]


@pytest.mark.parametrize(('name', 'words'), [
    ('info-update-instance-info', 'Instances of host 34-cn1 changed'),
    ('info-delete-instance-info', 'left host 34-cn1'),
    ('info-sync-instance-info', 'Instances of host 34-cn1 announced')])
def test_a_cast_about_instances_arrives(answers, daemon, name, words):
    """They come by fanout, not in line with the calls."""
    daemon.wait_for_lines(words)


def test_the_service_tells_that_it_is_there(answers):
    assert answers['ping', None] == {'answer': {
        'service': 'scheduler', 'arg': {'any': ['thing', None]}}}
    assert answers['backdoor port', None] == {'answer': None}
