"""Prototypes to start from: docs/how-to/python-prototypes.md goes through them."""
