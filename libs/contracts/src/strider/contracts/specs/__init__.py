"""Settings of crawl specs: which there are, who reads each, and how senders write them."""
