"""What several crawl services share: crawl specs, page rejections, run log, crawl settings."""
