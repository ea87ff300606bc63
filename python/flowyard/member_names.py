"""Names of a scenario's members for people: of TCP and RoCE their control, of a member in Python its class."""

from collections.abc import Iterable, Mapping
from typing import Any

# Controls that go by the name of one of TCP's, which is another protocol: their transport is part of their name.
NAMESAKES = {("roce", "dctcp")}


def member_name(value: Any) -> str | None:
    """The name of a member, such as "dctcp" for `{"tcp": {"congestion": "dctcp"}}`.

    Args:
        value: A member as a scenario has it, resolved or not: a word, or a table of one key.

    Returns:
        The name, "roce dctcp" where "dctcp" alone would be TCP's; None if the value is no member.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    ((tag, fields),) = value.items()
    if not isinstance(fields, Mapping):
        return str(tag)
    if tag in ("tcp", "roce") and (control := fields.get("congestion")):
        name = member_name(control)
        return f"{tag} {name}" if (tag, name) in NAMESAKES else name
    if tag == "python" and isinstance(name := fields.get("name"), str):
        return name
    return str(tag)


def members(choice: dict[str, Any]) -> Iterable[str]:
    """The names that a choice in a schema has."""
    words = [word for member in choice["oneOf"] for word in member.get("enum", [])]
    consts = [member["const"] for member in choice["oneOf"] if "const" in member]
    tables = [tag for member in choice["oneOf"] for tag in member.get("properties", ())]
    return dict.fromkeys(consts + tables + words)
