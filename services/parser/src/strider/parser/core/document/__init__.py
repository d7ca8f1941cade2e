"""Decode bytes into a document: type sniffing, charsets, XHTML, shadow DOM, PDF."""
