"""What the commands print: results as tables and sentences, or as JSON."""
