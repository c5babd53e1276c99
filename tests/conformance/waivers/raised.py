"""Cases in which Nova raised, and cases that depend on its dict order."""

import itertools

from tests.conformance import as_queens
from tests.conformance import as_raised
from tests.conformance.waivers import facts

#: Filters that compare extra specs one by one.
_COMPARE_EXTRA_SPECS = {'ComputeCapabilitiesFilter',
                        'AggregateInstanceExtraSpecsFilter'}


def _address_bits(difference):
    """Nova reads address bits from a JSON text instead of a dict."""
    if (facts.is_error(difference.expected, 'AttributeError')
            and not facts.is_error(difference.got)
            and 'ImagePropertiesFilter' in difference.rules
            and difference.image_property('hw_maxphysaddr_bits')):
        return f'{facts.RAISED}: hw_maxphysaddr_bits of an image'
    return None


def _order_of_extra_specs(difference):
    """A value that is no number raises, unless the host is already rejected.

    The recorded requests have sorted keys; Nova got another order.  Here
    another extra spec can reject a host in any order.
    """
    if 'request_spec' not in difference.case:
        return None
    specs = difference.extra_specs
    one_raises = {facts.is_error(difference.got),
                  facts.is_error(difference.expected)}
    if not (one_raises == {True, False}
            and _COMPARE_EXTRA_SPECS & difference.rules
            and 2 <= len(specs) <= 4):
        return None
    for order in itertools.permutations(specs.items()):
        changed = difference.changed()
        facts.data(changed)['flavor']['nova_object.data']['extra_specs'] = (
            dict(order))
        options = changed['config'].get('filter_scheduler', {})
        changed['config']['filter_scheduler'] = as_queens.with_filters(
            options, [as_raised.AggregateInstanceExtraSpecsFilter])
        if difference.ask(changed):
            return 'passes with the extra specs in another order'
    return None


def _selected_without_uuid(difference):
    """Nova has no uuid of hosts that never reported, and fails."""
    got = difference.got
    if (not facts.is_error(difference.expected, 'ValueError')
            or facts.is_error(got) or 'selections' not in got):
        return None
    silent = {node['host'] for node in difference.living_nodes()
              if node['free_disk_gb'] is None}
    nameless = {selection['host'] for chosen in got['selections']
                for selection in chosen if not selection['uuid']}
    if nameless and nameless <= silent:
        return f'{facts.RAISED}: a selected host never reported its usage'
    return None


FILTERS = (_address_bits, _order_of_extra_specs)
SCHEDULE = (_selected_without_uuid,)
