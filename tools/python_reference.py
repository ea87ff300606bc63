"""Docstrings and signatures -> docs/reference/python.md. `make generate` runs it, by tools/generate_reference.py.

Docstrings say all there is to say; here they only become Markdown. What is public is what `flowyard` and
`flowyard.analysis` name.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import flowyard as fy
from flowyard import analysis, parts, prototypes
from flowyard.errors import UserError
from flowyard.prototypes import learning

# Names of flowyard, in the order in which people meet them.
SECTIONS = {
    "Running": ("run", "check", "open", "open_run", "explain", "schema"),
    "Results": ("Result", "Table"),
    "Sweeps": ("sweep", "compare", "Plan", "Axis", "Sweep"),
    "Mistakes": ("ScenarioError",),
}
LISTS = ("Args", "Attributes", "Raises")
# Longer signatures have a line a parameter.
WIDTH = 110


def page() -> str:
    """The page."""
    named = {name for names in SECTIONS.values() for name in names}
    if missing := {name for name in fy._HOME if not name.startswith("_")} - named:
        raise SystemExit(
            f"{', '.join(sorted(missing))}: public, and in no section of tools/python_reference.py"
        )
    lines = [
        "# Python",
        "What `import flowyard as fy` gives, and `flowyard.analysis`. The same is in the docstrings: `help(fy.run)`.",
    ]
    for title, names in SECTIONS.items():
        lines.append(f"## {title}")
        for name in names:
            lines += _entry(f"fy.{name}", getattr(fy, name))
    lines += _entry("flowyard.errors.UserError", UserError)
    lines += [
        "## Parts of a scenario",
        "Each member of a choice has a class, with the fields that [its page](README.md) lists, by keyword. It stands"
        " in the module of its kind under the name that files have for it; all classes are in `fy`, too, where a few"
        " have another name. Every part has `to_dict()` and `to_json()`, and `fy.Scenario` is the whole.",
        _parts(),
        "## flowyard.analysis",
        (analysis.__doc__ or "").strip(),
    ]
    for name in analysis.__all__:
        if callable(value := getattr(analysis, name)):
            lines += _entry(f"analysis.{name}", value)
    lines += ["## flowyard.prototypes", (prototypes.__doc__ or "").strip()]
    for name in prototypes.__all__:
        lines += _entry(f"prototypes.{name}", getattr(prototypes, name))
    lines += ["## flowyard.prototypes.learning", (learning.__doc__ or "").strip()]
    for name in learning.__all__:
        lines += _entry(f"learning.{name}", getattr(learning, name))
    return "\n\n".join(line for line in lines if line) + "\n"


def _parts() -> str:
    rows = ["| module | classes |", "|---|---|"]
    for name in parts.MODULES:
        module = getattr(fy, name)
        classes = (
            f"`{member}`"
            + (f" (`fy.{kind}`)" if (kind := getattr(module, member).__name__) != member else "")
            for member in module.__all__
        )
        rows.append(f"| `fy.{name}` | {', '.join(classes)} |")
    return "\n".join(rows)


def _entry(name: str, value: Any) -> Iterator[str]:
    """A function, or a class with its methods."""
    yield f"### {name}"
    if not inspect.isclass(value):
        yield _signature(name, value)
        yield from _markdown(value)
        return
    if "__init__" in vars(value) and name.startswith("fy.") and value.__name__ in ("Plan", "Axis"):
        yield _signature(name, value)
    yield from _markdown(value)
    if value.__module__ == "flowyard._native":
        # The compiled half does not say in which order its fields stand.
        fields = sorted(
            name
            for name, found in vars(value).items()
            if inspect.isgetsetdescriptor(found) and not name.startswith("_")
        )
        told = ((name, inspect.getdoc(vars(value)[name]) or "") for name in fields)
        if lines := [f"- `{name}`: {_escaped(text)}" for name, text in told]:
            yield "Attributes:\n\n" + "\n".join(lines)
        for member, found in sorted(vars(value).items()):
            if inspect.ismethoddescriptor(found) and not member.startswith("_"):
                arguments = ", ".join(name for name in inspect.signature(found).parameters if name != "self")
                yield f"**`.{member}({arguments})`**: {' '.join((found.__doc__ or '').split())}"
    for member, found in vars(value).items():
        function = _function(found)
        if member.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        arguments = "" if _is_property(found) else _arguments(function)
        about, *more = _markdown(function)
        yield f"**`.{member}{arguments}`**: {about}"
        yield from more


def _function(found: Any) -> Any:
    """The object that has the docstring of a member of a class."""
    return getattr(found, "fget", None) or getattr(found, "func", None) or getattr(found, "__func__", found)


def _is_property(found: Any) -> bool:
    return hasattr(found, "fget") or hasattr(found, "func")


def _signature(name: str, value: Any) -> str:
    line = f"{name}{_arguments(value)}"
    if len(line) > WIDTH:
        # Commas inside of brackets belong to types.
        inside, end = line[len(name) + 1 :].rsplit(") -> ", 1)
        fields = re.split(r", (?![^\[]*\])(?=\*|\w+: )", inside)
        line = f"{name}(\n    " + ",\n    ".join(fields) + f",\n) -> {end}"
    return f"```\n{line}\n```"


def _arguments(value: Any) -> str:
    """Parameters with their types, as the source has them."""
    signature = inspect.signature(value)
    shown = [parameter for name, parameter in signature.parameters.items() if name not in ("self", "cls")]
    signature = signature.replace(
        parameters=[parameter.replace(annotation=_type(parameter.annotation)) for parameter in shown],
        return_annotation=_type(signature.return_annotation),
    )
    return str(signature)


class _Bare(str):
    """An annotation that is shown as it is, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _type(annotation: Any) -> Any:
    if annotation is inspect.Signature.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text.replace("'", "").replace('"', ""))
    return _Bare(text.replace("collections.abc.", ""))


def _markdown(value: Any) -> Iterator[str]:
    """A docstring's paragraphs and sections."""
    for paragraph in (inspect.getdoc(value) or "").split("\n\n"):
        head, _, rest = paragraph.partition("\n")
        title = head.strip().removesuffix(":")
        if title in LISTS and head.endswith(":"):
            yield f"{title}:\n\n" + "\n".join(_items(rest))
        elif title == "Returns" and rest:
            yield f"Returns: {_escaped(' '.join(rest.split()))}"
        elif paragraph.startswith("* "):
            items = re.split(r"(?m)^\* ", paragraph)[1:]
            yield "\n".join(f"- {_escaped(' '.join(item.split()))}" for item in items)
        else:
            yield _escaped(" ".join(paragraph.split()))


def _items(text: str) -> Iterator[str]:
    """The items of a section: deeper lines go on with the one before."""
    items: list[str] = []
    lines = [line for line in text.splitlines() if line.strip()]
    depth = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    for line in lines:
        if len(line) - len(line.lstrip()) == depth or not items:
            items.append(line.strip())
        else:
            items[-1] += f" {line.strip()}"
    for item in items:
        name, colon, what = item.partition(": ")
        yield f"- `{name}`: {_escaped(what)}" if colon else f"- {_escaped(item)}"


def _escaped(text: str) -> str:
    """Outside of code, what Markdown would take for its own."""
    pieces = text.split("`")
    return "`".join(
        re.sub(r"([<*\[])", r"\\\1", piece) if i % 2 == 0 else piece for i, piece in enumerate(pieces)
    )
