"""Names for `--transport`, and hints for names that are used elsewhere."""

import difflib
from collections.abc import Sequence

from flowyard.errors import UserError
from flowyard.folders.reading import shown

DEFAULT = "ndp"
# HPCC's ns-3 code and its descendants run RDMA over lossless Ethernet, by a control that a config.txt names: DCQCN is
# the first of them.
DEFAULT_OF_HPCC = "dcqcn"
# Those whose connections may stay open for several messages.
KEEPING = ("tcp", "mptcp", "parallel-tcp", "uet")
# What has another name here, or is not here: the nearest there is.
_NEAREST = {
    "rocev2": "roce, with DCQCN as its congestion control",
    "rdma": "roce, with DCQCN as its congestion control",
    "uec": "uet, the Ultra Ethernet transport",
    "eqds": "uet with control.eqds",
    "udp": "datagram",
    "rack": "tcp",
}


def named(name: str) -> tuple[str, str | None]:
    """The transport of a name that `run --compare` takes, too, and its congestion control where it names one.

    Raises:
        UserError: It is that of none; the text has a hint if it is known elsewhere.
    """
    from flowyard import results
    from flowyard.member_names import transport_named, transport_names

    defined = results.schema()["$defs"]
    found = transport_named(name, defined)
    if isinstance(found, dict):
        ((tag, fields),) = found.items()
        return tag, fields["congestion"]
    if found is not None:
        return found, None
    said = f"--transport {shown(name)}: is no transport here"
    plain = name.lower().replace("_", "-")
    if plain in _NEAREST:
        raise UserError(f"{said}; the nearest is {_NEAREST[plain]}")
    names = list(dict.fromkeys(transport_names(defined)))
    # Letters that changed places are nearer than others.
    swapped = [other for other in names if sorted(other) == sorted(plain)]
    meant = swapped or difflib.get_close_matches(plain, names, n=1)
    near = f"did you mean {meant[0]}? " if meant else ""
    raise UserError(f"{said}; {near}there are {', '.join(names)}")


def default(files: Sequence[str]) -> str:
    """The transport of files of these formats, where no option names one."""
    from_hpcc = any(name.startswith(("hpcc", "rdma", "conweave")) for name in files)
    return DEFAULT_OF_HPCC if from_hpcc else DEFAULT


def by_default(files: Sequence[str]) -> str:
    """The note of a scenario whose transport no option names."""
    found = default(files)
    why = (
        ", one of the controls of HPCC's ns-3 code (its config.txt names one)"
        if found == DEFAULT_OF_HPCC
        else ""
    )
    return f"no file names the transport: hosts run {found}{why}; --transport changes it"
