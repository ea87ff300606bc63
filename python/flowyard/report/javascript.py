"""Vega, Vega-Lite and vega-embed as one script that needs nothing else."""

import contextlib
import functools
import hashlib
import os
from importlib.metadata import version
from pathlib import Path

from flowyard import folders, memory
from flowyard.errors import UserError

SNIPPET = "window.vegaEmbed = vegaEmbed;"


@functools.cache
def bundle() -> str:
    """The script: about 0.9 MB.

    Making it takes seconds, so it is kept in the user's cache folder, by the version of its maker.
    """
    made_by = f"{version('vl-convert-python')}-{hashlib.sha256(SNIPPET.encode()).hexdigest()[:8]}"
    cached = cache_folder() / f"vega-{made_by}.js"
    try:
        return cached.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        pass
    script = make()
    # A report does not fail for want of a cache.
    with contextlib.suppress(UserError):
        folders.replace(cached, script)
    return script


def make() -> str:
    """Bundles the script afresh."""
    memory.require_room_to_draw("report")
    import vl_convert

    script: str = vl_convert.javascript_bundle(SNIPPET)
    # Inside a script element only this would end it.
    return script.replace("</script", r"<\/script")


def cache_folder() -> Path:
    """Where programs of this user keep what they can make again."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "flowyard"
