"""A real Chromium without a window, and a server in this process for it to visit."""

import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from unmask.serve.models import Models
from unmask.serve.server import Settings, make_app

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"),
    *("--disable-component-update", "--no-first-run", "--disable-dev-shm-usage", "--force-color-profile=srgb"),
)
PATIENCE = 30.0  # seconds


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """The browser with a profile that nobody has used; where there is none, the test is skipped."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("Chromium is missing: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


@contextmanager
def listening(models: Models, **settings: Any) -> Iterator[str]:
    """The address of a server that runs in a thread."""
    place = socket.socket()
    place.bind(("127.0.0.1", 0))
    place.listen()  # who connects before the server looks is waited for
    models.open()
    app = make_app(models, Settings(log=lambda *_, **__: None, **settings))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        place.close()


class Visitor:
    """Somebody at the page: sees, clicks, types."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self.browser, self.address = browser, address

    def visit(self, tab: str = "", **kept: str) -> "Visitor":
        """Opens the page anew with nothing kept from before but what is given."""
        self.browser.get(f"{self.address}healthz")
        self.do("localStorage.clear(); sessionStorage.clear();")
        for name, value in kept.items():
            self.do("localStorage.setItem(arguments[0], arguments[1])", f"unmask.{name}", value)
        self.browser.get(f"{self.address}#{tab}")
        self.see("#panel > :not(noscript)")
        return self

    def do(self, script: str, *given: Any) -> Any:
        return self.browser.execute_script(script, *given)

    def all(self, choice: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, choice)

    def see(self, choice: str, holds: Callable[[WebElement], object] = lambda _: True) -> WebElement:
        """The first that is there and as it should be, waited for."""
        found: list[WebElement] = []

        def there() -> bool:
            found[:] = [element for element in self.all(choice) if element.is_displayed() and holds(element)]
            return bool(found)

        until(there, choice)
        return found[0]

    def click(self, choice: str) -> None:
        self.see(choice).click()

    def type(self, choice: str, words: str) -> None:
        element = self.see(choice)
        element.clear()
        if max(words) > "\uffff":  # keys that the driver cannot press
            self.do("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", element, words)
        else:
            element.send_keys(words)

    def press(self, *keys: str) -> None:
        """Keys, wherever the focus is."""
        webdriver.ActionChains(self.browser).send_keys(*keys).perform()

    def ask(self) -> None:
        """Ctrl + Enter."""
        chain = webdriver.ActionChains(self.browser)
        chain.key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()

    def tab_until(self, choice: str) -> None:
        """The tabulator again and again, until the focus is there."""
        for _ in range(40):
            if self.do("return document.activeElement.matches(arguments[0])", choice):
                return
            self.press(Keys.TAB)
        raise AssertionError(f"no way to {choice} by keyboard")

    def complaints(self) -> list[str]:
        """What the browser's console says."""
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] != "INFO"]

    def requests(self) -> set[str]:
        """The addresses that were asked for since the last look."""
        events = (json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance"))
        return {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}

    def tell(self, command: str, **given: Any) -> Any:
        """A command of the DevTools protocol."""
        return self.browser.execute_cdp_cmd(command, given)


def until(true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not _quietly(true):
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.03)


def _quietly(true: Callable[[], object]) -> object:
    """What is redrawn in the middle of a look is looked at again."""
    try:
        return true()
    except StaleElementReferenceException:
        return False
