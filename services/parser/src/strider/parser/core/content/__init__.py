"""Select the main text of a page and render it as text, Markdown and SimHash."""
