"""One command a file. Only these and ``cli`` know the terminal, the environment and exit codes."""
