"""Request filters tell whether they looked at a request."""

import pytest

from nova_sched import exception
from nova_sched import objects
from nova_sched.rules.prefilters import aggregates
from nova_sched.rules.prefilters import edits
from nova_sched.rules.prefilters import networks
from nova_sched.rules.prefilters import traits
from nova_sched.scheduler import request_filter
from tests.builders.facts import Facts
from tests.builders.facts import an_aggregate
from tests.builders.requests import a_destination
from tests.builders.requests import a_request

#: Those that look at requests where an option says so.
OPTIONAL = {
    traits.require_image_type_support:
        'query_placement_for_image_type_support',
    traits.transform_image_metadata: 'image_metadata_prefilter',
    aggregates.require_tenant_aggregate:
        'limit_tenants_to_placement_aggregate',
    aggregates.isolate_aggregates: 'enable_isolated_aggregate_filtering',
    networks.routed_networks_filter:
        'query_placement_for_routed_network_aggregates'}

#: Those that look at each request.
ALWAYS = [traits.compute_status_filter, traits.accelerators_filter,
          traits.packed_virtqueue_filter, networks.remote_managed_ports_filter,
          traits.owner_nova_filter]

#: Those that look at requests that ask for something, and what.
ASKED = {
    aggregates.map_az_to_placement_aggregate: {'availability_zone': 'z'},
    traits.ephemeral_encryption_filter: {
        'extra_specs': {'hw:ephemeral_encryption': 'true'}},
    traits.virtio_sound_filter: {'extra_specs': {'hw:sound_model': 'virtio'}},
    traits.tpm_secret_security_filter: {
        'extra_specs': {'hw:tpm_version': '2.0'}}}


def looked(filter_, *on, facts=None, **request):
    return filter_(a_request(**request), facts or Facts(),
                   request_filter.Options(**dict.fromkeys(on, True)))


@pytest.mark.parametrize(('filter_', 'option'), OPTIONAL.items(),
                         ids=lambda value: getattr(value, '__name__', ''))
def test_of_an_option_look_where_it_is_set(filter_, option):
    assert looked(filter_, option) is True
    assert looked(filter_) is False


@pytest.mark.parametrize('filter_', ALWAYS, ids=lambda cls: cls.__name__)
def test_of_every_request_look_at_one_that_asks_for_nothing(filter_):
    assert looked(filter_) is True


@pytest.mark.parametrize(('filter_', 'request_'), ASKED.items(),
                         ids=lambda value: getattr(value, '__name__', ''))
def test_of_some_requests_look_at_those_that_ask_for_it(filter_, request_):
    assert looked(filter_, **request_) is True
    assert looked(filter_) is False


@pytest.mark.parametrize(('oldest', 'expected'), [
    (None, False), (72, False), (73, True), (74, True)])
def test_the_owner_is_asked_for_once_all_tell_it(oldest, expected):
    assert looked(traits.owner_nova_filter,
                  facts=Facts(oldest=oldest)) is expected


def test_an_image_type_is_not_asked_for_of_a_volume():
    assert looked(traits.require_image_type_support,
                  'query_placement_for_image_type_support',
                  is_bfv=True) is False


def test_all_of_them_run():
    assert {*OPTIONAL, *ALWAYS, *ASKED} == set(request_filter.FILTERS)


def test_a_project_is_known_by_its_id_whoever_wrote_it():
    """Not by where its text is kept."""
    spec_obj, name = a_request(project_id='project'), 'pro'
    facts = Facts(known=[an_aggregate('one', filter_tenant_id=f'{name}ject')])

    aggregates.require_tenant_aggregate(
        spec_obj, facts, request_filter.Options(
            limit_tenants_to_placement_aggregate=True))

    assert spec_obj.requested_destination.aggregates == ['one']


@pytest.mark.parametrize('destination', [None, a_destination(host='h')])
def test_what_is_added_to_a_destination_leaves_what_was_there(destination):
    spec_obj = a_request(requested_destination=destination)

    for uuids in (['a', 'b'], ['c']):
        edits.require_any(spec_obj, uuids)
        edits.forbid_all(spec_obj, uuids)

    found = spec_obj.requested_destination
    assert isinstance(found, objects.Destination)
    assert found.host == (destination and 'h')
    assert found.aggregates == ['a,b', 'c']
    assert found.forbidden_aggregates == {*'abc'}


@pytest.mark.parametrize(('flavor', 'image'), [
    ('1.2', '2.0'), ('2.0', '1.2'), ('2.0', None), (None, '1.2')])
def test_flavor_and_image_must_not_contradict_each_other(flavor, image):
    """Whichever of them wants more."""
    asked = {
        'extra_specs': {'hw:tpm_version': flavor} if flavor else {},
        'image_properties': {'hw_tpm_version': image} if image else {}}

    if flavor and image:
        with pytest.raises(exception.InvalidInput, match='must not differ'):
            looked(traits.tpm_secret_security_filter, **asked)
    else:
        assert looked(traits.tpm_secret_security_filter, **asked) is True
