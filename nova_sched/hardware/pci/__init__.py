"""PCI devices: the free devices of hosts, and taking them for requests."""
