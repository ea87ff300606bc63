"""Times and sizes of what people wait for and make room for, in words."""


def span(seconds: float) -> str:
    """A time that people wait."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes:,} min" if minutes < 120 else f"{minutes // 60:,} h {minutes % 60} min"


def room(size_bytes: float) -> str:
    """Bytes of memory or disk, in MiB or GiB."""
    mebi = size_bytes / 2**20
    return f"{mebi / 1024:.1f} GiB" if mebi >= 1024 else f"{max(1, round(mebi)):,} MiB"
