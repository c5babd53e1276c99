"""What is planned of the requests that real Novas sent is what is done then.

Each is asked as it was captured: its version, its arguments and its answer's
form are those of the caller, the plan knows its RequestSpec only.
"""

import contextlib
import json

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from tests.builders import commands
from tests.builders import messages
from tests.builders.examples import so_many
from tests.functional import captures
from tests.functional import conftest
from tests.functional.processes import until
from tests.functional.test_plan import planned
from tests.functional.test_plan import rows

#: The captured rules, and of amounts those that Placement counts otherwise.
FILTERS = ('AvailabilityZoneFilter', 'ComputeFilter',
           'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
           'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter',
           'NUMATopologyFilter', 'PciPassthroughFilter')
OF_AMOUNTS = ('RamFilter', 'DiskFilter', 'CoreFilter')
OPTIONS = {
    # Each is decided as if none had come before.
    'nova_sched__pick_lifetime': 0, 'nova_sched__no_valid_host_text': 'full',
    # The captured compute services send no more heartbeats.
    'DEFAULT__service_down_time': 86400}

#: Captures that no host is right for.
REFUSED = ('force-hosts-unknown', 'no-valid-host-filters',
           'no-valid-host-placement')


@pytest.fixture(autouse=True)
def plans():
    """What a plan keeps this process from, the next test may do."""
    with commands.plans_undone():
        yield


def is_request(capture):
    """Whether a capture asks for hosts, in one of the ways that there are."""
    message = capture['request']['decoded']['oslo.message']
    return (message['version'].startswith('4.')
            and {*message['args']} & {'spec_obj', 'request_spec'}
            and message['args'].get('spec_obj', {}) is not None)


def cloud(era):
    """The captured one, in which no two hosts weigh the same."""
    cloud = captures.cloud(era)
    for number, node in enumerate(cloud['compute_nodes']):
        node['free_ram_mb'] -= 100 * number
    return cloud


def files(directory, era):
    """{name of a capture: file for --spec}, of all requests of an era.

    In turn the whole call, the RequestSpec and its fields alone.
    """
    found = {}
    # A third of them where there is little time.
    names = captures.names(era, is_request)[::3 // so_many(3)]
    for number, name in enumerate(names):
        call = _call(name)['args']
        forms = [call]
        if 'spec_obj' in call:
            forms += [call['spec_obj'], call['spec_obj']['nova_object.data']]
        found[name] = directory / f'{name}.json'
        found[name].write_text(json.dumps(forms[number % len(forms)]))
    return found


def _call(name):
    return captures.load(name)['request']['decoded']['oslo.message']


def decided(scheduler, client, name):
    """What the service decides of a capture: as ``planned``, and the uuids.

    Without alternates, if its caller wants none.
    """
    call = _call(name)
    uuids = call['args'].get('instance_uuids') or []
    try:
        answer = client.prepare(version=call['version']).call(
            context.RequestContext(request_id=f'req-{name}',
                                   auth_token='a-token'),
            call['method'], **call['args'])
    except (exception.NoValidHost, messaging.RemoteError) as refusal:
        assert getattr(refusal, 'exc_type', 'NoValidHost') == 'NoValidHost'
        # Nova's words for some reasons are none.
        kept = once_kept(scheduler, f'req-{name}',
                         lambda store, number: store.document(number))
        return kept['reason'], uuids
    return [list(map(_host, chosen if isinstance(chosen, list) else [chosen]))
            for chosen in answer], uuids


def once_kept(scheduler, name, read):
    """What is read of a decision, by the store and its number.

    name: by which the store finds it, a moment after its answer.
    """
    def found():
        with (scheduler.recorder.reading() as store,
              contextlib.suppress(exception.InvalidInput)):
            [number] = store.numbers(name)
            return read(store, number)
    return until(found, 'the decision kept')


def _host(selected):
    data = selected.get('nova_object.data', selected)
    return data.get('service_host', data.get('host'))


def plans_of(stage, capsys, era):
    """Plan all requests of an era: {name of a capture: what is told}."""
    return {name: commands.plan(stage, capsys, '--spec', str(path))[1]
            for name, path in files(stage.directory, era).items()}


def differing(stage, found, after=lambda uuids: None):
    """Have the service decide what was planned.

    found: as of ``plans_of``.
    after: function of the uuids of each request, called when it is decided.
    Returns {name: (what was planned, what was done)} where these differ.
    """
    scheduler = stage.embedded()
    client = messages.raw_client(stage.transport())
    differ = {}
    for name, plan in found.items():
        came, uuids = decided(scheduler, client, name)
        after(uuids)
        expected = planned(plan)
        if plan['placements'] and not _call(name)['args'].get(
                'return_alternates'):
            expected = [hosts[:1] for hosts in expected]
        if came != expected:
            differ[name] = expected, came
    return differ


@pytest.mark.parametrize('era', captures.ERAS)
@pytest.mark.parametrize('backend', [
    'fake', pytest.param('real', marks=pytest.mark.real),
    pytest.param(conftest.POSTGRESQL, marks=pytest.mark.real)][:so_many(3)])
def test_captured_requests_are_decided_as_they_are_planned(
        tmp_path, backend, era, capsys):
    """And planning them changes no database."""
    with conftest.open_stage(
            tmp_path, backend, **OPTIONS,
            filter_scheduler__enabled_filters=','.join(
                [*FILTERS, *OF_AMOUNTS])) as stage:
        stage.load(cloud(era))
        before = rows(stage.engine())

        found = plans_of(stage, capsys, era)

        assert rows(stage.engine()) == before
        assert differing(stage, found) == {}
        assert [name for name, plan in found.items() if plan['reason']] == [
            name for name in found if name.endswith(REFUSED)]
