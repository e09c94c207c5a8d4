"""``python -m git_tmem``: the same program as ``git tmem``."""

from git_tmem.cli import main

if __name__ == "__main__":
    main()
