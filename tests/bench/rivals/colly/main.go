// Item and links of every page, robots on: URL to begin with, file to write.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"sync"

	"github.com/gocolly/colly/v2"
)

type item struct {
	URL         string `json:"url"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Text        string `json:"text"`
	Links       int    `json:"links"`
}

func main() {
	file, err := os.Create(os.Args[2])
	if err != nil {
		panic(err)
	}
	out := bufio.NewWriter(file)
	var lock sync.Mutex
	crawler := colly.NewCollector(colly.Async(true), colly.MaxDepth(0))
	crawler.IgnoreRobotsTxt = false
	crawler.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 100})
	crawler.OnHTML("html", func(page *colly.HTMLElement) {
		links := page.ChildAttrs("a[href]", "href")
		found := item{
			URL:         page.Request.URL.String(),
			Title:       page.ChildText("title"),
			Description: page.ChildAttr(`meta[name="description"]`, "content"),
			Text:        page.ChildText("body"),
			Links:       len(links),
		}
		line, _ := json.Marshal(found)
		lock.Lock()
		out.Write(append(line, '\n'))
		lock.Unlock()
		for _, link := range links {
			page.Request.Visit(link)
		}
	})
	crawler.Visit(os.Args[1])
	crawler.Wait()
	out.Flush()
	file.Close()
}
