"""Shared by several crawl services: crawl specs, page rejections, run log, settings."""
