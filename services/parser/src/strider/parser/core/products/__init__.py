"""Extract products from structured data, meta elements, scripts and visible signals."""
