"""Methods of Nova's RequestSpec that convert a request to two dicts.

For plug-ins and drivers that pass them on: with objects as values, and
without keys of features that the request does not use.
"""

_OF_INSTANCE = {
    'numa_topology': 'numa_topology', 'pci_requests': 'pci_requests',
    'project_id': 'project_id', 'user_id': 'user_id',
    'availability_zone': 'availability_zone', 'instance_uuid': 'uuid'}
_SIZES = ('root_gb', 'ephemeral_gb', 'memory_mb', 'vcpus')
_NAMES = ('ignore_hosts', 'force_hosts', 'force_nodes',
          'requested_destination')


class NovaDicts:
    """A mixin for the RequestSpec of plug-ins."""

    def to_legacy_request_spec_dict(self):
        """Return the dict that Nova called request_spec.

        Its ``instance_type`` is the Flavor, ``image`` a dict, empty without
        an image.
        """
        properties = {theirs: getattr(self, ours)
                      for ours, theirs in _OF_INSTANCE.items()
                      if self.obj_attr_is_set(ours)}
        properties |= {name: getattr(self, name) for name in _SIZES}
        return {'num_instances': self.num_instances,
                'image': {} if self.image is None else self.image.flat(),
                'instance_type': self.flavor,
                'instance_properties': properties}

    def to_legacy_filter_properties_dict(self):
        """Return the dict that Nova called filter_properties.

        Features that the request does not use have no key; a hint with one
        value is that value, not a list.
        """
        made = {name: getattr(self, name) for name in _NAMES}
        for name in ('retry', 'limits'):
            part = getattr(self, name)
            made[name] = part and part.to_dict()
        made['scheduler_hints'] = {
            name: self.get_scheduler_hint(name)
            for name in self.scheduler_hints or {}}
        made = {name: value for name, value in made.items() if value}
        group = self.instance_group
        if group is not None:
            made |= {'group_updated': True,
                     'group_hosts': set(group.hosts or ()),
                     'group_policies': set(group.policies),
                     'group_members': set(group.members or ()),
                     'group_uuid': group.uuid}
        return made
