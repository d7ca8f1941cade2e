"""Decisions about frontier entries: accept, retry, redirect, settle, recrawl, close."""
