"""Differences to Queens where our answer is a newer Nova's."""

from tests.conformance.waivers import facts


def _address_bits_of_flavor(difference):
    """Queens ignores this extra spec; without it our answer is the same."""
    if not (difference.is_queens
            and 'ComputeCapabilitiesFilter' in difference.rules
            and 'hw:maxphysaddr_bits' in difference.extra_specs):
        return None
    changed = difference.changed()
    del facts.extra_specs(changed)['hw:maxphysaddr_bits']
    if difference.ask(changed):
        return 'newer answer: extra spec hw:maxphysaddr_bits'
    return None


def _one_number_version(difference):
    if (difference.is_queens
            and facts.is_error(difference.expected, 'ValueError')
            and not facts.is_error(difference.got)
            and 'ImagePropertiesFilter' in difference.rules
            and difference.image_property('img_hv_requested_version')
            and any(0 < (node['hypervisor_version'] or 0) < 1000
                    for node in difference.living_nodes())):
        return 'newer answer: hypervisor versions of one number compare'
    return None


def _destination_without_node(difference):
    """Queens compares nodes with a destination's missing node."""
    wanted = difference.spec.get('requested_destination')
    wanted = wanted and wanted['nova_object.data']
    if (difference.is_queens and difference.name == 'chain'
            and wanted and wanted.get('host') and not wanted.get('node')
            and difference.expected['final'] == []):
        return 'newer answer: a destination without a node is all its nodes'
    return None


FILTERS = (_address_bits_of_flavor, _one_number_version,
           _destination_without_node)
