"""git-tmem: what coding agents learned in a repository, kept in git and checked before use."""

__version__ = "0.1.0"
