"""Vega, Vega-Lite and vega-embed as one script that needs nothing else."""

import functools
import hashlib
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

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
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=cached.parent, delete=False) as file:
            file.write(script)
        Path(file.name).replace(cached)
    except OSError:
        # A report does not fail for want of a cache.
        pass
    return script


def make() -> str:
    """Bundles the script afresh."""
    import vl_convert

    script: str = vl_convert.javascript_bundle(SNIPPET)
    # Inside a script element only this would end it.
    return script.replace("</script", r"<\/script")


def cache_folder() -> Path:
    """Where programs of this user keep what they can make again."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "flowyard"
