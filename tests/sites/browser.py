"""Chromium without a screen, and a server of a folder for it."""
import contextlib
import functools
import http.server
import shutil
import threading

NARROW, WIDE = 360, 1280
HEIGHT = 900
SCHEMES = ("light", "dark")
PROGRAMS = ("chromium", "chromedriver")


def missing():
    """What there is not of a browser and its driver."""
    names = [name for name in PROGRAMS if not shutil.which(name)]
    try:
        import selenium  # noqa: F401
    except ImportError:
        names.append("python3-selenium")
    return names


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """The address of a folder."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def chromium():
    # Where the machine has none, the facts that need no browser can still be told.
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking",
                 "--no-first-run", "--hide-scrollbars", f"--window-size={WIDE},{HEIGHT}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_page_load_timeout(20)
    driver.set_script_timeout(20)
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver, width):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width == NARROW})


def colour(driver, scheme):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
