"""Finding and loading the classes that options name, whoever wrote them."""
