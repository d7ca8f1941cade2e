"""robots.txt: decoding, tokenizing, rules by agent, path matching, and freshness."""
