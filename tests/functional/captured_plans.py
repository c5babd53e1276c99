"""Plans of captured requests, and the decisions on them.

Each request is sent as captured, with its version and arguments; the plan
has only its RequestSpec.
"""

import contextlib
import json

import oslo_messaging as messaging

from nova_sched import context
from nova_sched import exception
from tests.builders import commands
from tests.builders import messages
from tests.builders.examples import so_many
from tests.functional import captures
from tests.functional.processes import until
from tests.functional.test_plan import planned

#: The captured filters.
FILTERS = ('AvailabilityZoneFilter', 'ComputeFilter',
           'ComputeCapabilitiesFilter', 'ImagePropertiesFilter',
           'ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter',
           'NUMATopologyFilter', 'PciPassthroughFilter')
OPTIONS = {
    # No request counts for the next one.
    'nova_sched__pick_lifetime': 0, 'nova_sched__no_valid_host_text': 'full',
    # The captured compute services send no more heartbeats.
    'DEFAULT__service_down_time': 86400}

#: Captures that no host fits.
REFUSED = ('force-hosts-unknown', 'no-valid-host-filters',
           'no-valid-host-placement')


def is_request(capture):
    """Whether a capture is a request for hosts, of any era."""
    message = capture['request']['decoded']['oslo.message']
    return (message['version'].startswith('4.')
            and {*message['args']} & {'spec_obj', 'request_spec'}
            and message['args'].get('spec_obj', {}) is not None)


def cloud(era):
    """The captured cloud, with a different weight for each host."""
    cloud = captures.cloud(era)
    for number, node in enumerate(cloud['compute_nodes']):
        node['free_ram_mb'] -= 100 * number
    return cloud


def files(directory, era):
    """{name of a capture: file for --spec}, for all requests of an era.

    The files have in turn the whole call, the RequestSpec or its fields.
    """
    found = {}
    # A third of the captures without --everything.
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
    """Send a capture: (decision in the form of ``planned``, uuids).

    There are alternates if the captured call wants them.
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
        # The error text has no reason in some cases, the record has it.
        kept = once_kept(scheduler, f'req-{name}',
                         lambda store, number: store.document(number))
        return kept['reason'], uuids
    return [list(map(_host, chosen if isinstance(chosen, list) else [chosen]))
            for chosen in answer], uuids


def once_kept(scheduler, name, read):
    """Wait until a decision is stored; return ``read(store, number)``.

    name: request id or instance uuid to find the decision by.
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
    """Plan all requests of an era: {name of a capture: plan}."""
    return {name: commands.plan(stage, capsys, '--spec', str(path))[1]
            for name, path in files(stage.directory, era).items()}


def differing(stage, found, after=lambda uuids: None):
    """Have the service decide the planned requests.

    found: as of ``plans_of``.
    after: called with the uuids of each request after its decision.
    Returns {name: (plan, decision)} of those that differ.
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
