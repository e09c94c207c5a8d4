"""``git tmem resume``: the end of ``git tmem pause``."""

from git_tmem.commands.pause import resume as command

__all__ = ["command"]
