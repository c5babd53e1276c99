"""How many more instances of a flavor the hosts take."""
