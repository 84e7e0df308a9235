"""What only measures: no part of the product packages."""
