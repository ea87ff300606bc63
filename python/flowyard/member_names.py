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


def transport_named(
    name: str, defined: Mapping[str, Any], own: str | None = None
) -> str | dict[str, Any] | None:
    """The transport of a name, or of that of a congestion control: {"tcp": {"congestion": "dctcp"}}.

    Args:
        name: The name.
        defined: The definitions of the schema.
        own: A transport whose controls come before all other names.

    Returns:
        The transport as a scenario has it; None if the name is that of none.
    """
    found = controls(defined)
    if own in found and name in found[own]:
        return {own: {"congestion": name}}
    if name in members(defined["Transport"]):
        return name
    return next(({tag: {"congestion": name}} for tag, names in found.items() if name in names), None)


def transport_names(defined: Mapping[str, Any]) -> list[str]:
    """All names that `transport_named` knows."""
    return [*members(defined["Transport"]), *(name for names in controls(defined).values() for name in names)]


def controls(defined: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names of the congestion controls of each transport that has some, by the definitions of the schema."""
    found = {}
    for variant in defined["Transport"]["oneOf"]:
        for tag, config in variant.get("properties", {}).items():
            fields = defined[config["$ref"].rpartition("/")[2]] if "$ref" in config else {}
            if choice := _choice(fields.get("properties", {}).get("congestion", {}), defined):
                found[tag] = list(members(choice))
    return found


def _choice(field: Mapping[str, Any], defined: Mapping[str, Any]) -> dict[str, Any] | None:
    """The choice that a field has, in the schema."""
    parts = [field, *field.get("anyOf", ()), *field.get("allOf", ())]
    found = (defined[part["$ref"].rpartition("/")[2]] for part in parts if "$ref" in part)
    return next((dict(choice) for choice in found if "oneOf" in choice), None)
