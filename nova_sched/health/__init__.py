"""How the service is: what its processes notice, and HTTP that tells it."""
