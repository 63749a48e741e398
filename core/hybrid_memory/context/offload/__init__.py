"""Big payloads: their digests, and the way to page through them and search them."""
