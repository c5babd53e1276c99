"""Health checks of the service, and the process that serves them by HTTP."""
