"""A headless Chromium driven over its DevTools pipe: a page of any width, with all that it logs and asks for."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-pipe"
)
PATIENCE_S = 600.0


class Browser:
    """One browser with one page; a context manager.

    Attributes:
        logged: What the page wrote to the console, threw, or was warned of.
        requested: The addresses that it asked for.
    """

    def __init__(self, profile: Path, width: int = 1400, height: int = 1000, dark: bool = False) -> None:
        self.logged: list[str] = []
        self.requested: list[str] = []
        (theirs_in, self._out), (self._in, theirs_out) = os.pipe(), os.pipe()
        # The browser reads commands from descriptor 3 and writes to descriptor 4.
        command = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                command,
                str(PROGRAM),
                *FLAGS.split(),
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer, self._number, self._session = b"", 0, None
        targets = self._call("Target.getTargets")["targetInfos"]
        target = next(each["targetId"] for each in targets if each["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def resize(self, width: int, height: int) -> None:
        """Gives the page a size, below what a window can have."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def media(self, kind: str) -> None:
        """Shows the page as on another medium: screen or print."""
        self._call("Emulation.setEmulatedMedia", media=kind)

    def reduce_motion(self) -> None:
        """Asks pages for reduced motion, as a reader's system does."""
        feature = {"name": "prefers-reduced-motion", "value": "reduce"}
        self._call("Emulation.setEmulatedMedia", features=[feature])

    def open(self, path: Path) -> None:
        """Opens a report and waits until its charts are drawn."""
        self._call("Page.navigate", url=path.as_uri())
        self.wait("document.documentElement?.hasAttribute('data-charts') ?? false")

    def ask(self, expression: str) -> Any:
        """The value of an expression, which may be a promise."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Waits until an expression is true."""
        ends = time.monotonic() + PATIENCE_S
        while not self.ask(expression):
            assert time.monotonic() < ends, f"never true: {expression}"
            time.sleep(0.05)

    def hover(self, selector: str) -> None:
        """Puts the pointer on the middle of an element."""
        x, y = self._middle(selector)
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Presses and releases the mouse on the middle of an element."""
        x, y = self._middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wheel(self, selector: str, turn: int) -> None:
        """Turns the wheel on the middle of an element: below zero away from the reader."""
        x, y = self._middle(selector)
        self._call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=turn)

    def tap(self, selector: str) -> None:
        """Touches the middle of an element."""
        x, y = self._middle(selector)
        self._call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self._call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, name: str) -> None:
        """Presses a key: Enter, Tab, Escape."""
        code = {"Enter": 13, "Tab": 9, "Escape": 27}[name]
        text = {"text": "\r"} if name == "Enter" else {}
        self._call(
            "Input.dispatchKeyEvent", type="keyDown", key=name, code=name, windowsVirtualKeyCode=code, **text
        )
        self._call("Input.dispatchKeyEvent", type="keyUp", key=name, code=name, windowsVirtualKeyCode=code)

    def picture(self, path: Path) -> None:
        """Writes a picture of the whole page."""
        answer = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def print(self, path: Path) -> None:
        """Prints the page on A4."""
        answer = self._call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _middle(self, selector: str) -> tuple[float, float]:
        found = json.dumps(selector)
        self.ask(f"document.querySelector({found}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.ask(f"document.querySelector({found}).getBoundingClientRect().toJSON()")
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def _call(self, method: str, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        ends = time.monotonic() + PATIENCE_S
        while True:
            answer = self._next(ends)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)

    def _next(self, ends: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, ends - time.monotonic()))
            assert ready, "the browser does not answer"
            read = os.read(self._in, 1 << 16)
            assert read, "the browser is gone"
            self._buffer += read
        line, self._buffer = self._buffer.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled":
                self.logged.append(f"{params['type']}: {params['args']}")
            case "Runtime.exceptionThrown":
                self.logged.append(f"exception: {params['exceptionDetails']}")
            case "Log.entryAdded":
                self.logged.append(f"{params['entry']['level']}: {params['entry']['text']}")
            case "Network.requestWillBeSent":
                self.requested.append(params["request"]["url"])
