"""Classes in Python that are registered for a run: the engine's calls, and their description in the run's record."""

import difflib
import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from flowyard.errors import UserError
from flowyard.prototypes import failures
from flowyard.prototypes.balancer import Balancer
from flowyard.prototypes.control import CongestionControl
from flowyard.prototypes.queue import Queue
from flowyard.prototypes.transport import Transport

ECHOES = (None, "until-reduced", "exact", "exact-at-once", "each-segment")


class Kind(NamedTuple):
    """A list of members that takes prototypes: its argument of `flowyard.run`, its name, the base of its classes."""

    argument: str
    words: str
    base: type


KINDS = {
    "transport": Kind("transports", "transport", Transport),
    "control": Kind("controls", "congestion control", CongestionControl),
    "queue": Kind("queues", "queue", Queue),
    "balancer": Kind("balancers", "load balancer", Balancer),
}

# What a class says of itself in attributes that are true or false: fields of the scenario's member.
TRUTHS = {
    "transport": ("needs_marks", "needs_trimming"),
    "control": ("proportional_reduction", "acknowledges_each_segment"),
    "queue": ("marks", "trims"),
    "balancer": ("one_path",),
}

# Methods without which a class does nothing.
REQUIRED = {
    "transport": {"next_packet": "selects the packet that a sender sends", "at_receiver": "delivers data"},
    "balancer": {"choose": "selects the next hop of a packet"},
}

# Sizes that a transport says of itself, in bytes, with the largest one.
SIZES = {"payload": 65_000, "header_bytes": 500}


class Registered:
    """A class under a name; crates/python asks for all of this.

    Args:
        kind: A key of KINDS.
        name: The name by which scenarios know it.
        cls: The class.
    """

    def __init__(self, kind: str, name: str, cls: type) -> None:
        self.kind = kind
        self.name = name
        self.cls = cls
        self.fields = json.dumps(self._fields())
        self._refuse_misspelt()
        self._refuse_other_arguments()
        for verb, purpose in REQUIRED.get(kind, {}).items():
            if not self.has(verb):
                raise UserError(f"{cls.__name__} has no method {verb}, which {purpose}")

    def make(self, settings: str) -> object:
        """An object with these settings, as JSON."""
        return self.cls(**json.loads(settings))

    def has(self, verb: str) -> bool:
        """Whether the class writes a verb itself."""
        return getattr(self.cls, verb) is not getattr(KINDS[self.kind].base, verb)

    def refusal(self, settings: str) -> str | None:
        """Errors in settings, as JSON."""
        try:
            inspect.signature(self.cls).bind(**json.loads(settings))
        except TypeError as error:
            takes = [
                str(parameter.replace(annotation=inspect.Parameter.empty))
                for parameter in inspect.signature(self.cls).parameters.values()
            ]
            return f"{error}; {self.cls.__name__} takes {', '.join(takes) or 'no settings'}"
        return None

    def described(self) -> str:
        """Its entry in run.json, as JSON, before its costs."""
        try:
            file: str | None = inspect.getsourcefile(self.cls) or inspect.getfile(self.cls)
        except (OSError, TypeError):
            file = None
        source = Path(file) if file else None
        there = source is not None and source.is_file()
        about = {
            "kind": KINDS[self.kind].words,
            "name": self.name,
            "class": self.cls.__qualname__,
            "file": failures.where(file) if there else None,
            "sha256": hashlib.sha256(source.read_bytes()).hexdigest() if source and there else None,
        }
        return json.dumps(about)

    def failure(self, verb: str, now_ps: int, error: BaseException) -> BaseException:
        """The exception to raise for an error in a verb."""
        return failures.failure(self.cls, verb, now_ps, error)

    def _refuse_misspelt(self) -> None:
        """A method named nearly as one that the class lacks would not be called, nor would one named as verbs are."""
        base = KINDS[self.kind].base
        verbs = [name for name, value in vars(base).items() if _is_public_method(name, value)]
        lacking = {name.lower(): name for name in verbs if not self.has(name)}
        for cls in self.cls.__mro__[: self.cls.__mro__.index(base)]:
            for name, value in vars(cls).items():
                if not _is_public_method(name, value) or hasattr(base, name):
                    continue
                near = difflib.get_close_matches(name.lower(), lacking, n=1, cutoff=0.8)
                if near or name.lower().startswith("on_"):
                    meant = f"did you mean {lacking[near[0]]}?" if near else f"it has {', '.join(verbs)}."
                    raise UserError(
                        f"{cls.__name__}.{name} is no method of {base.__name__}, and would not be called; {meant} "
                        "If it is a helper of your own, begin its name with _"
                    )

    def _refuse_other_arguments(self) -> None:
        """A method that does not take the arguments of the contract would fail at its first call, perhaps late."""
        base = KINDS[self.kind].base
        for name, value in vars(base).items():
            own = inspect.getattr_static(self.cls, name)
            if not _is_public_method(name, value) or not inspect.isfunction(own) or own is value:
                continue
            takes = list(inspect.signature(value).parameters)
            try:
                inspect.signature(own, follow_wrapped=False).bind(*takes)
            except TypeError:
                given = ", ".join(inspect.signature(own, follow_wrapped=False).parameters)
                raise UserError(
                    f"{failures.place_of(own)}{self.cls.__name__}.{name}({given}): is called with other arguments; "
                    f"write def {name}({', '.join(takes)})"
                ) from None

    def _fields(self) -> dict[str, Any]:
        """Fields of the member that the class fills in."""
        fields: dict[str, Any] = {name: True for name in TRUTHS[self.kind] if getattr(self.cls, name, False)}
        echo = getattr(self.cls, "echo", None) if self.kind == "control" else None
        if echo not in ECHOES:
            allowed = ", ".join(json.dumps(word) for word in ECHOES[1:])
            raise UserError(f"{self.cls.__name__}.echo = {echo!r}: use None, {allowed}")
        fields |= {"echo": echo} if echo else {}
        return fields | (self._sizes() if self.kind == "transport" else {})

    def _sizes(self) -> dict[str, Any]:
        """Fields of a transport that are not false unless said."""
        sizes = {}
        for name, most in SIZES.items():
            size = getattr(self.cls, name)
            if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= most:
                raise UserError(
                    f"{self.cls.__name__}.{name} = {size!r}: use a whole number of bytes from 1 to {most}"
                )
            sizes[name] = f"{size}B"
        return sizes | {"retransmits": bool(getattr(self.cls, "retransmits", True))}


def _is_public_method(name: str, value: object) -> bool:
    return not name.startswith("_") and inspect.isfunction(value)


def register(**given: Mapping[str, type] | None) -> list[Registered]:
    """The classes that were given for each kind, by its argument of `flowyard.run`.

    Raises:
        UserError: One of them is none, or not of that kind.
    """
    kinds = {kind.argument: (name, kind) for name, kind in KINDS.items()}
    handed = []
    for argument, classes in given.items():
        name, kind = kinds[argument]
        for key, cls in (classes or {}).items():
            if not isinstance(cls, type):
                raise UserError(
                    f"{argument}[{key!r}] is {cls!r}, which is no class: hand in the class itself"
                )
            if not issubclass(cls, kind.base):
                base = f"flowyard.prototypes.{kind.base.__name__}"
                raise UserError(f"{argument}[{key!r}]: {cls.__name__} does not derive from {base}")
            handed.append(Registered(name, key, cls))
    return handed


def of_classes(classes: Iterable[type]) -> list[Registered]:
    """Classes of any kind, each under its own name."""
    handed = []
    for cls in classes:
        for kind, about in KINDS.items():
            if issubclass(cls, about.base):
                handed.append(Registered(kind, cls.__name__, cls))
    return handed
