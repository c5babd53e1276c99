"""Loading the filters, weighers and other classes that options name."""
