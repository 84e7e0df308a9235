"""What the commands print: results as tables and sentences for people, as JSON for programs."""
