"""The one error that a user causes: what came, what was wanted, what to do. The command makes it one line, status 2."""


class InputError(Exception):
    """The user's input is at fault.

    >>> str(InputError("size 'huge'", wanted="tiny, mini or base", do="choose one with --size"))
    "got size 'huge'; wanted tiny, mini or base; choose one with --size"
    """

    def __init__(self, got: str, *, wanted: str = "", do: str = "") -> None:
        self.got, self.wanted, self.do = got, wanted, do
        super().__init__("; ".join(filter(None, [f"got {got}", f"wanted {wanted}" if wanted else "", do])))
