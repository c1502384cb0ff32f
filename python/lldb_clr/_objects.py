"""Objects, their fields and elements, and static fields, as values, by the rules of _values."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional, Tuple, Union

from ._errors import UsageError
from ._holders import Held, HeapReader
from ._json import Json, number
from ._printable import shown

Plain = Union[str, int, float, bool, None]


@dataclass(frozen=True)
class Value:
    """The value of a field, an element or a static. ``value`` is a number, a bool, or a text as people read it; None for null, and when ``fault`` says why it
    is not known."""
    type: str
    """As declared."""
    value: Plain
    object: Optional[int] = None
    """The address that a reference holds, 0 for null; None for other values."""
    object_type: Optional[str] = None
    """The type that the object has, where it is not the declared one."""
    fields: Tuple[Field, ...] = ()
    """Of a structure."""
    fault: Optional[str] = None

    @shown
    def __repr__(self) -> str:
        return f"<Value {self.object_type or self.type}: {self.fault or self.value!r}>"

    @classmethod
    def of(cls, json: Json) -> Value:
        return cls(json["type"], json["value"], number(json.get("object")), json.get("object_type"), tuple(Field.of(f) for f in json.get("fields", ())), json.get("fault"))


@dataclass(frozen=True)
class Field:
    """A field of an object or structure. ``name`` is that of the metadata, ``property`` that of an automatic property."""
    name: str
    property: Optional[str]
    declared_in: str
    offset: int
    """From the object's address, or from the start of the structure."""
    value: Value

    @shown
    def __repr__(self) -> str:
        return f"<Field {self.property or self.name}: {self.value!r}>"

    @classmethod
    def of(cls, json: Json) -> Field:
        return cls(json["name"], json.get("property"), json["declared_in"], json["offset"], Value.of(json))


@dataclass(frozen=True)
class Item:
    """An element; ``key`` is None but for the entries of dictionaries."""
    key: Optional[Value]
    value: Value

    @classmethod
    def of(cls, json: Json) -> Item:
        return cls(Value.of(json["key"]) if "key" in json else None, Value.of(json))


@dataclass(frozen=True)
class Object(Held):
    """An object in the heap, by the type that it has. ``object["Name"]`` is the value of a field or automatic property."""
    address: int
    type: str
    method_table: int
    size: int
    """Bytes in the heap, padding included."""
    text: str
    fields: Tuple[Field, ...]
    """Those of the base classes first."""
    items: Tuple[Item, ...]
    """Of arrays and of the framework's collections."""
    item_count: Optional[int]
    """Also of the elements that are not in ``items``; None when the type has no elements."""
    fault: Optional[str] = None
    _reader: Optional[HeapReader] = field(default=None, repr=False, compare=False)

    def __getitem__(self, name: str) -> Value:
        for known in reversed(self.fields):
            if name in (known.name, known.property):
                return known.value
        raise UsageError(f"{self.type} has no field {name}")

    @shown
    def __repr__(self) -> str:
        return f"<Object {self.type} at {self.address:#x}: {self.text}>"

    @classmethod
    def of(cls, json: Json, reader: Optional[HeapReader] = None) -> Object:
        return cls(int(json["address"], 16), json["type"], int(json["method_table"], 16), json["size"], json["text"], tuple(Field.of(f) for f in json["fields"]),
                   tuple(Item.of(i) for i in json.get("items", ())), json.get("item_count"), json.get("fault"), reader)


@dataclass(frozen=True)
class Static:
    """A static field. ``thread`` is the kernel id of the thread whose own it is; None for other statics."""
    name: str
    property: Optional[str]
    token: int
    method_table: int
    address: Optional[int]
    """None while the runtime has not made the statics of the type."""
    thread: Optional[int]
    value: Value

    @shown
    def __repr__(self) -> str:
        return f"<Static {self.property or self.name}: {self.value!r}>"

    @classmethod
    def of(cls, json: Json) -> Static:
        return cls(json["name"], json.get("property"), int(json["token"], 16), int(json["method_table"], 16), number(json.get("address")), json.get("thread"),
                   Value.of(json))
