"""The commands' JSON as Python has it, and its fields as numbers."""
from __future__ import annotations

from typing import Any, Dict, Optional

Json = Dict[str, Any]


def number(value: Any) -> Optional[int]:
    """The number of a JSON field, "0x..." or a number."""
    if value is None or isinstance(value, int):
        return value
    return int(value, 16)


def hex_of(value: Optional[int]) -> str:
    return "None" if value is None else f"{value:#x}"
