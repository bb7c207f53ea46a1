"""Pictures of pages, for whoever changes how they look."""
import itertools

from rendering.tree import VERSION

from . import browser

PAGES = ("index", "docs/quickstart-ovn", "docs/metrics", "docs/comparison")


def take(site, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with browser.served(site) as address, browser.chromium() as driver:
        for page, width, scheme in itertools.product(PAGES, (browser.WIDE, browser.NARROW), browser.SCHEMES):
            browser.resize(driver, width)
            browser.colour(driver, scheme)
            driver.get(f"{address}/{VERSION}/{page}.html")
            driver.save_screenshot(str(folder / f"{page.rpartition('/')[2]}-{width}-{scheme}.png"))
    print(f"pictures in {folder}", flush=True)
