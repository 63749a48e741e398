"""What a long conversation becomes: summaries, the artifact ledger, digests of big payloads; pure."""
