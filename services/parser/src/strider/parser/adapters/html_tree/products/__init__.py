"""Read signals of products from HTML trees: prices, buttons, stock, images, breadcrumbs."""
