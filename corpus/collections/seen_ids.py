"""Find ids that occur twice, in little memory."""

from array import array

_FIRST = 1 << 10  # slots at the beginning
_FILLED = 0.7  # share of slots from which on there are twice as many


class SeenIds:
    """The ids that were seen so far, in 23 to 46 bytes of memory per id, however long they are.

    An id is known by two hashes of 64 bits. The probability that any two of a billion ids agree in
    both is below 10⁻²⁰. They are in a table with open addressing, because a set of ten million
    strings takes more than a gigabyte.

    >>> seen = SeenIds()
    >>> seen.add("a"), seen.add("b"), seen.add("a")
    (True, True, False)
    """

    def __init__(self) -> None:
        self._count = 0
        self._make(_FIRST)

    def add(self, name: str) -> bool:
        """Remember an id, and return whether it is new."""
        one, other = hash(name) or 1, hash(f"\0{name}")  # 0 marks an empty slot
        ones, others, mask = self._ones, self._others, self._mask
        place = other & mask
        while found := ones[place]:
            if found == one and others[place] == other:
                return False
            place = (place + 1) & mask
        ones[place], others[place] = one, other
        self._count += 1
        if self._count >= self._most:
            self._grow()
        return True

    def _make(self, slots: int) -> None:
        """Make an empty table; `slots` is a power of two."""
        self._mask, self._most = slots - 1, int(_FILLED * slots)
        self._ones, self._others = array("q", [0]) * slots, array("q", [0]) * slots

    def _grow(self) -> None:
        before, before_others = self._ones, self._others
        self._make(2 * len(before))
        ones, others, mask = self._ones, self._others, self._mask
        for one, other in zip(before, before_others, strict=True):
            if one:
                place = other & mask
                while ones[place]:
                    place = (place + 1) & mask
                ones[place], others[place] = one, other
