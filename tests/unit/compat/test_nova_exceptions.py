"""The exceptions that plug-ins raise and catch."""

import pytest

pytestmark = pytest.mark.usefixtures('nova_names_anew')


class TestException:
    def test_text_is_made_of_its_keywords(self):
        from nova import exception

        class NoLicence(exception.NovaException):
            msg_fmt = 'no licence for %(product)s'

        assert str(NoLicence(product='x')) == 'no licence for x'
        assert str(NoLicence('as it is: %')) == 'as it is: %'
        assert NoLicence(product='x').format_message() == 'no licence for x'

    @pytest.mark.parametrize(('name', 'words', 'text', 'base', 'code'), [
        ('Forbidden', {}, 'Forbidden', 'NovaException', 403),
        ('HostNotFound', {'host': 'h'}, 'Host h could not be found.',
         'NotFound', 404),
        ('ComputeHostNotFound', {'host': 'h'},
         'Compute host h could not be found.', 'HostNotFound', 404),
        ('SchedulerHostFilterNotFound', {'filter_name': 'F'},
         'Scheduler Host Filter F could not be found.', 'NotFound', 404),
        ('AggregateNotFound', {'aggregate_id': 1},
         'Aggregate 1 could not be found.', 'NotFound', 404),
        ('FlavorNotFound', {'flavor_id': 1}, 'Flavor 1 could not be found.',
         'NotFound', 404),
        ('ImageNotFound', {'image_id': 1}, 'Image 1 could not be found.',
         'NotFound', 404),
        ('InstanceNotFound', {'instance_id': 1},
         'Instance 1 could not be found.', 'NotFound', 404),
        ('InstanceGroupNotFound', {'group_uuid': 'u'},
         'Instance group u could not be found.', 'NotFound', 404),
        ('ServiceUnavailable', {}, 'Service is unavailable at this time.',
         'Invalid', 400),
        ('ComputeServiceUnavailable', {'host': 'h'},
         'Compute service of h is unavailable at this time.',
         'ServiceUnavailable', 400),
        ('PciDeviceRequestFailed', {'requests': 'r'},
         'PCI devices cannot be had: r', 'NovaException', 500),
        ('ObjectActionError', {'action': 'load', 'reason': 'r'},
         'Object cannot load: r', 'NovaException', 500),
        ('OrphanedObjectError', {'method': 'm', 'objtype': 'o'},
         'm of o needs a context, and it has none.', 'NovaException', 500),
        ('RequestFilterFailed', {'reason': 'r'},
         'Request cannot be scheduled: r', 'NovaException', 500),
        ('AllocationUpdateFailed', {'consumer_uuid': 'u', 'error': 'e'},
         'Allocations of u not changed: e', 'NovaException', 500),
        ('ResourceProviderTraitRetrievalFailed', {'uuid': 'u'},
         'Failed to get traits for resource provider with UUID u',
         'NovaException', 500),
        ('ResourceProviderRetrievalFailed', {'uuid': 'u'},
         'Failed to get resource provider with UUID u', 'NovaException', 500),
        ('CellMappingNotFound', {'uuid': 'u'}, 'Cell u could not be found.',
         'NotFound', 404),
        ('UnsupportedPolicyException', {'reason': 'r'},
         'Policy of the server group is not supported: r', 'Invalid', 400),
        ('ComputeResourcesUnavailable', {'reason': 'r'},
         'Not enough compute resources: r', 'ServiceUnavailable', 400)])
    def test_says_and_is_what_nova_s_is(self, name, words, text, base, code):
        from nova import exception
        cls = getattr(exception, name)

        assert str(cls(**words)) == text
        assert issubclass(cls, getattr(exception, base))
        assert (cls.code, cls.__module__) == (code, 'nova.exception')

    def test_without_its_keywords_says_what_it_can(self):
        from nova import exception

        assert str(exception.HostNotFound()) == (
            'Host %(host)s could not be found.')
