DROP VIEW product_images;
DROP TABLE products;
