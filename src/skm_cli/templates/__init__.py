"""What `skm new` writes: files with places to fill in, as `string.Template` has them."""
