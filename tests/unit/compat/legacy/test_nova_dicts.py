"""The dicts that a request makes of itself, for who hands them on."""

from nova_sched.compat.legacy import kilo_mapping
from nova_sched.objects import arguments
from tests.builders import requests


def read(**fields):
    return kilo_mapping.with_mapping(arguments.from_wire(
        requests.a_request(**fields).obj_to_primitive()))


def test_the_spec_has_the_flavor_as_an_object():
    spec_obj = read(num_instances=3)
    made = spec_obj.to_legacy_request_spec_dict()

    assert made['num_instances'] == 3
    assert made['instance_type'] is spec_obj.flavor
    assert made['instance_properties']['memory_mb'] == spec_obj.memory_mb
    assert made['instance_properties']['uuid'] == spec_obj.instance_uuid
    assert made['instance_properties']['project_id'] == spec_obj.project_id


def test_the_image_is_a_dict_and_none_an_empty_one():
    assert read(image=None).to_legacy_request_spec_dict()['image'] == {}


def test_the_properties_have_what_is_used_alone():
    spec_obj = read(ignore_hosts=['a'], force_hosts=[],
                    scheduler_hints={'one': ['x'], 'more': ['x', 'y']})
    made = spec_obj.to_legacy_filter_properties_dict()

    assert made['ignore_hosts'] == ['a']
    assert made['scheduler_hints'] == {'one': 'x', 'more': ['x', 'y']}
    assert not {'force_hosts', 'retry', 'group_updated'} & made.keys()


def test_a_group_is_sets():
    group = requests.a_group(hosts=['a'], members=['m'])
    made = read(instance_group=group).to_legacy_filter_properties_dict()

    assert made['group_updated'] is True
    assert (made['group_hosts'], made['group_members']) == ({'a'}, {'m'})
