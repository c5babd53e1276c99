"""Amounts up to which the compute node may fill itself."""

import logging

from nova_sched.objects import base
from nova_sched.objects import fields
from nova_sched.objects import numa
from nova_sched.objects.fields import Field

LOG = logging.getLogger(__name__)


@base.Registry.register
class SchedulerLimits(base.NovaObject):
    """What filters left for the compute node to check again.

    memory_mb in MiB, disk_gb in GiB; None means no limit.  ``other`` holds
    limits of third-party filters, which only the dict form can carry.
    """

    VERSION = '1.0'
    fields = {
        'memory_mb': Field(fields.INTEGER, null=True),
        'vcpu': Field(fields.INTEGER, null=True),
        'disk_gb': Field(fields.INTEGER, null=True),
        'numa_topology': Field(fields.nested(numa.NUMATopologyLimits),
                               null=True),
    }

    @classmethod
    def from_dict(cls, limits):
        """From {name: amount}; names that are missing become None.

        limits: dict or None.  Amounts are cut to whole numbers.
        Raises MalformedError for an amount that is no number.
        """
        limits = limits or {}
        made = cls.from_data(
            {name: limits.get(name) for name in cls.fields}, cls.VERSION)
        made.__dict__['other'] = {
            name: value for name, value in limits.items()
            if name not in cls.fields}
        return made

    @property
    def other(self):
        """Limits under names that the object form does not know."""
        return self.__dict__.get('other', {})

    def to_dict(self):
        """{name: amount} of the limits there are, objects as objects."""
        known = {name: getattr(self, name) for name in self.fields}
        return {name: value for name, value in {**known, **self.other}.items()
                if value is not None}

    def obj_to_primitive(self, target_version=None, version_manifest=None):
        """The envelope; limits of unknown names are left out."""
        if self.other:
            LOG.warning('Limits %s are not sent: only the dict form of a '
                        'reply can carry them', sorted(self.other))
        return super().obj_to_primitive(target_version, version_manifest)
