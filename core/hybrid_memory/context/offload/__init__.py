"""Large payloads: their digests, and how to page through and search them."""
