"""Facts about a change that no test tells; one file a rule."""
