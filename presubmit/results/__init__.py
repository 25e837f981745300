"""What test tools and linters print and write, read as data that nobody vouches for."""
