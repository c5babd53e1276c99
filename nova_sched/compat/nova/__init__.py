"""What plug-ins import from Nova and this service has under no other name.

``nova_sched.compat.nova_names`` makes the modules here and others of this
service importable under Nova's names.
"""
