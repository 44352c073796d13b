"""`python -m ngm` is `ngm`, and so `torchrun ... -m ngm train` trains in several processes."""

from ngm.cli import main

if __name__ == "__main__":
    main()
