"""Trees of exceptions as Runtime.exception() makes them of rows."""
from lldb_clr._runtime import Runtime


class Rows(Runtime):
    """A runtime that has nothing but the rows of one answer."""

    def __init__(self, rows):
        self.rows = rows
        self._target = None

    def _query(self, *_):
        return iter(self.rows)

    def __del__(self):
        pass


def row(address, *inner, aggregate=False):
    made = {"address": hex(address), "method_table": "0x1", "type": "T", "message": None, "hresult": None, "trace": []}
    if inner:
        made["inner"] = hex(inner[0])
    if aggregate:
        made["inner_exceptions"] = [hex(one) for one in inner]
    return made


def check():
    # The rows of the C interface: each exception once, before those within it.
    twice = Rows([row(1, 2, 3, aggregate=True), row(2, 4), row(4), row(3, 4)]).exception(1)
    assert [one.address for one in twice.inner_exceptions] == [2, 3], twice.inner_exceptions
    assert twice.inner_exceptions[0].inner is twice.inner_exceptions[1].inner is not None, "the one that stands twice"
    circle = Rows([row(1, 2), row(2, 1)]).exception(1)
    assert circle.inner.address == 2 and circle.inner.inner is None, "one within itself"
    one, count = Rows([*(row(i, i + 1) for i in range(1, 1000)), row(1000)]).exception(1), 0
    while one is not None:
        one, count = one.inner, count + 1
    assert count == 1000, f"{count} of 1000"
    return "one in two, one in itself, 1,000 within each other"
