"""Groups that flavors ask for: ``resources1:VCPU``, ``trait:NAME`` and so on.

Names and values: Nova's flavor extra specs (``resources``, ``trait``,
``group_policy``).  What makes no sense is left out with a warning.
"""

import re

import os_resource_classes
from oslo_log import log as logging

from nova_sched.rules.resources.query import Group

LOG = logging.getLogger(__name__)

#: What a request group may be called.
SUFFIX = '[a-zA-Z0-9_-]{1,64}'
_KEY = re.compile(f'(resources|trait)({SUFFIX})?:(.*)')
_POLICIES = ('none', 'isolate')


def groups(extra_specs):
    """Return the groups of a flavor's extra specs: suffix -> Group.

    The unnumbered one, '', is always there.  Amounts may be zero, and groups
    may be empty.
    """
    found = {'': Group()}
    for key, value in extra_specs.items():
        parts = _KEY.fullmatch(key)
        if parts is None:
            continue
        kind, suffix, name = parts.groups('')
        add = _add_amount if kind == 'resources' else _add_trait
        add(found.setdefault(suffix, Group()), key, name, value)
    return found


def policy(extra_specs):
    """Return whether groups may share a provider: 'none', 'isolate' or None.
    """
    value = extra_specs.get('group_policy')
    if value is None or value in _POLICIES:
        return value
    LOG.warning("Invalid group_policy '%s'. Valid values are 'none' and "
                "'isolate'.", value)
    return None


def _add_amount(group, key, name, value):
    if not (name in os_resource_classes.STANDARDS
            or os_resource_classes.is_custom(name)):
        LOG.warning("Received an invalid ResourceClass '%(key)s' in "
                    "extra_specs.", {'key': name})
        return
    try:
        amount = int(value)
    except ValueError:
        amount = -1
    if amount < 0:
        LOG.warning("Resource amounts must be nonnegative integers. "
                    "Received '%(val)s' for key %(key)s.",
                    {'val': value, 'key': key})
        return
    group.resources[name] = amount


def _add_trait(group, key, name, value):
    traits = {'required': group.required, 'forbidden': group.forbidden}
    if value not in traits:
        LOG.warning("Only (required, forbidden) traits are supported. "
                    "Received '%(val)s' for key %(key)s.",
                    {'val': value, 'key': key})
        return
    traits[value].add(name)
