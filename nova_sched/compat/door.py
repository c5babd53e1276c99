"""What the service calls of this package; see nova_sched.nova_compat."""

from nova_sched import nova_compat
from nova_sched.compat import current_hosts
from nova_sched.compat import driver_signatures
from nova_sched.compat import nova_methods
from nova_sched.compat import nova_names
from nova_sched.compat import object_methods
from nova_sched.compat import row_rules
from nova_sched.compat.legacy import dicts
from nova_sched.compat.legacy import kilo_mapping
from nova_sched.compat.legacy import rule_argument
from nova_sched.compat.nova import reach
from nova_sched.compat.row_api import driver as row_api


class Compat(nova_compat.Compat):
    """The service with adapters for Nova's plug-ins and old callers."""

    not_offered = nova_names.NOT_OFFERED

    provide_names = staticmethod(nova_names.provide)
    hint = staticmethod(nova_names.hint)
    check_methods = staticmethod(nova_methods.check)
    constructor = staticmethod(driver_signatures.accept_conf)
    adapted_filters = staticmethod(row_rules.adapted_filters)
    adapted_weighers = staticmethod(row_rules.adapted_weighers)
    spec_from_dicts = staticmethod(dicts.spec_from_dicts)
    request_of = staticmethod(rule_argument.request_of)
    with_mapping = staticmethod(kilo_mapping.with_mapping)
    set_current_hosts = staticmethod(current_hosts.set)
    limit_plug_ins = staticmethod(reach.limit)

    def __init__(self):
        object_methods.add()

    def driver_class(self, cls, option, has_foreign_hosts=False):
        if has_foreign_hosts or not nova_methods.is_ours(cls):
            cls = row_api.in_front_of(cls)
        return driver_signatures.adapt(cls, option)
