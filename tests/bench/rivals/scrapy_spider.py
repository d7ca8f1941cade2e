"""Run by the Python of Scrapy's own environment: URL to begin with, file to write, most pages."""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess

START, OUTPUT, PAGES = sys.argv[1], sys.argv[2], int(sys.argv[3])


class Spider(scrapy.Spider):
    """Follows every link, and yields what a page says."""

    name = "bench"

    async def start(self):
        """Begin at the one URL."""
        yield scrapy.Request(START)

    def parse(self, response):
        """Yield the item and the requests of a page."""
        links = response.css("a::attr(href)").getall()
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "description": response.css('meta[name="description"]::attr(content)').get(),
            "text": " ".join(response.css("body ::text").getall()),
            "links": len(links),
        }
        for link in links:
            yield response.follow(link, self.parse)


process = CrawlerProcess(
    {
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 100,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "RETRY_ENABLED": False,
        "CLOSESPIDER_PAGECOUNT": PAGES,
        "FEEDS": {OUTPUT: {"format": "jsonlines"}},
    }
)
process.crawl(Spider)
process.start()
