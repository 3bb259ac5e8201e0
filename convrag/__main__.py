"""`python -m convrag`: see convrag.cli.main."""

from convrag.cli.main import main

if __name__ == "__main__":
    main()
