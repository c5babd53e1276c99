"""As ``nova.compute``: what ``nova.compute.api`` has to tell."""

from nova_sched.compat.nova import compute_api

API = compute_api.API
HostAPI = compute_api.HostAPI
