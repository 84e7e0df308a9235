"""One module for each sub-command: arguments in, library call, output."""
