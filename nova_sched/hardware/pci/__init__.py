"""PCI devices: what hosts have free, and taking some for a request."""
