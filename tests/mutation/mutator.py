"""Which bytes of a core are replaced by which. The same seed, core and number give the same damage."""
import random

# Values that readers take for sizes, counts, ends of chains and addresses.
NUMBERS = [0, 1, 2, 7, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 47, (1 << 48) - 8, 1 << 63, (1 << 64) - 1, (1 << 64) - 8]


class Mutator:
    def __init__(self, core, structures, seed):
        self.core, self.structures, self.seed = core, structures, seed
        self.by_kind = {}
        for place in structures.places:
            self.by_kind.setdefault(place[0], []).append(place)
        self.kinds = sorted(self.by_kind)
        self.data = [(at, size) for _, size, at in core.segments]

    def edits(self, number):
        """[(kind, what, offset, new bytes)] of mutant `number`."""
        chance = random.Random(f"{self.seed}/{number}")
        how_many = chance.choice([1, 1, 1, 1, 1, 2, 3, 5, 8, 24])
        # The kinds take turns, so that each is damaged as often as the others, and sometimes many at once.
        first = self.kinds[number % (len(self.kinds) + 1)] if number % (len(self.kinds) + 1) < len(self.kinds) else None
        edits = []
        for i in range(how_many):
            kind = first if i == 0 or chance.random() < 0.7 else chance.choice(self.kinds)
            edits.append(self.edit(chance, kind))
        return edits

    def edit(self, chance, kind):
        if kind is None:
            at, size = chance.choice(self.data)
            offset, width, what = at + chance.randrange(size - 8) // 8 * 8, 8, "anywhere"
            kind = "anywhere"
        else:
            _, what, offset, width = chance.choice(self.by_kind[kind])
        old = int.from_bytes(self.core.at(offset, width), "little")
        return kind, what, offset, self.value(chance, kind, old, width).to_bytes(width, "little")

    def value(self, chance, kind, old, width):
        mask = (1 << 8 * width) - 1
        way = chance.randrange(8)
        if kind == "descriptor text" and width == 1 and way < 6:
            return ord(chance.choice("0123456789"))
        if way == 0:
            return old ^ (1 << chance.randrange(8 * width))
        if way == 1:
            return chance.choice(NUMBERS) & mask
        if way == 2:
            return old + chance.choice([-64, -8, -4, -1, 1, 4, 8, 16, 24, 64, 4096]) & mask
        if way == 3:
            return chance.getrandbits(8 * width)
        if way == 4 or width < 8:
            # What stands in another place of this kind: plausible, and wrong.
            others = self.by_kind.get(kind) or self.structures.places
            _, _, offset, other = chance.choice(others)
            return int.from_bytes(self.core.at(offset, min(width, other)), "little")
        if way == 5:
            return chance.choice(self.structures.pointers[chance.choice(sorted(self.structures.pointers))])
        if way == 6 and kind in self.structures.pointers:
            return chance.choice(self.structures.pointers[kind])
        address, size, _ = chance.choice(self.core.segments)
        return address + chance.randrange(size) // 8 * 8
