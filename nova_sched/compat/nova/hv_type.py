"""As ``nova.compute.hv_type``, until Newton: ``objects.fields.HVType``."""

from nova_sched.objects import fields

ALL = fields.HVType.ALL
is_valid = fields.HVType.is_valid
canonicalize = fields.HVType.canonicalize

globals().update({name: value for name, value in vars(fields.HVType).items()
                  if value in ALL})
