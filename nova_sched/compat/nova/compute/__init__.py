"""As ``nova.compute``: the classes of ``nova.compute.api``."""

from nova_sched.compat.nova import compute_api

API = compute_api.API
HostAPI = compute_api.HostAPI
