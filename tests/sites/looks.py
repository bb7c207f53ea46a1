"""Facts about a site in a browser: widths, contrast, search, keys, messages."""
import re
from collections import Counter
from pathlib import Path

from rendering.tree import VERSION

from . import browser, pages

CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
WIDTH = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
MOST_TABS = 8
RARE_WORD = re.compile(r"\b[a-z][a-z_]{9,}\b")


class Looker:
    def __init__(self, driver, address, made):
        self.driver, self.made = driver, made
        self._address = f"{address}/{VERSION}/"
        self.root = address
        self.said = []

    def open(self, page, anchor=""):
        # From another page, so that one with an anchor is loaded, too.
        self.driver.get("about:blank")
        self.driver.get(self._address + pages.address(page) + anchor)

    def here(self):
        return self.driver.current_url.removeprefix(self._address)

    def listen(self, page):
        """Keeps what the browser has said of a page."""
        self.said += [f"{page}: {each['message']}" for each in self.driver.get_log("browser")]

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()

    def wait(self, script, what):
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait
        try:
            return WebDriverWait(self.driver, 5, poll_frequency=0.05).until(lambda driver: driver.execute_script(f"return {script}"))
        except TimeoutException:
            raise AssertionError(f"{what}: not within 5 s, at {self.here()}") from None


def check(facts, driver, address, made):
    looker = Looker(driver, address, made)
    _check_pages(facts, looker)
    with facts.fact("so have the navigation and the results of the search on a narrow screen, and they fit"):
        _check_parts(looker)
    with facts.fact("the search finds a heading, and Enter leads there"):
        _check_search_of_heading(looker)
    with facts.fact("the search finds a word of the text, and its link leads to the section that has it"):
        _check_search_of_word(looker)
    for width in (browser.NARROW, browser.WIDE):
        with facts.fact(f"keys alone lead from a page to another by the navigation, at {width} px"):
            _check_keys(looker, width)
    with facts.fact("the list of versions leads to another one"):
        _check_versions(looker)
    with facts.fact("the browser has nothing to say of any page"):
        assert not looker.said, "; ".join(looker.said[:5])


# ---- each page
def _check_pages(facts, looker):
    wide, faint = [], []
    texts = Counter()
    for page in looker.made:
        looker.open(page)
        for width in (browser.NARROW, browser.WIDE):
            browser.resize(looker.driver, width)
            has, may = looker.run(WIDTH)
            if has > may:
                wide.append(f"{page} has {has} px on {may}")
        for scheme in browser.SCHEMES:
            texts[scheme] += _look(looker, scheme, page, faint)
        looker.listen(page)
    with facts.fact(f"{len(looker.made)} pages are no wider than a screen of {browser.NARROW} px, and of {browser.WIDE} px"):
        assert not wide, "; ".join(wide)
    with facts.fact(f"{texts['light']} texts have the contrast of WCAG's level AA by day, and {texts['dark']} by night"):
        assert min(texts.values(), default=0) > 0 and not faint, "; ".join(faint[:8])


def _look(looker, scheme, what, faint):
    """The number of texts."""
    browser.colour(looker.driver, scheme)
    found = looker.run(CONTRAST)
    faint += [f"{what}, {scheme}: {each}" for each in found["worst"]]
    return found["looked"]


def _check_parts(looker):
    """What a page shows when it is asked."""
    faint = []
    browser.resize(looker.driver, browser.NARROW)
    looker.open(pages.START)
    looker.run("document.querySelector('.menu').open = true")
    for scheme in browser.SCHEMES:
        _look(looker, scheme, "the navigation", faint)
    _type(looker, "policy")
    wide = [f"the results of the search have {has} px on {may}" for has, may in [looker.run(WIDTH)] if has > may]
    for scheme in browser.SCHEMES:
        _look(looker, scheme, "the search", faint)
    looker.run("document.querySelector('#found a').focus()")
    _look(looker, "light", "a result with the focus", faint)
    looker.listen("the search")
    assert not faint + wide, "; ".join(faint + wide)


# ---- search
def _type(looker, words):
    looker.run("document.querySelector('.search input').value = ''")
    looker.press("/", *words)
    looker.wait("document.querySelector('#found a')", f"results of {words}")


def _check_search_of_heading(looker):
    browser.resize(looker.driver, browser.WIDE)
    heading = looker.made["docs/cluster.md"].headings[1]
    looker.open("docs/glossary.md")
    _type(looker, heading.text)
    looker.press("\ue015", "\ue007")  # down, Enter
    looker.wait(f"location.hash === '#{heading.anchor}'", f"the heading {heading.text}")
    assert looker.here() == f"docs/cluster.html#{heading.anchor}", looker.here()
    bar, top = looker.run("return ['header', location.hash].map((each) => document.querySelector(each).getBoundingClientRect())"
                          ".map((box, index) => index ? box.top : box.bottom)")
    assert bar <= top < browser.HEIGHT, f"the heading is at {top} px, and the bar ends at {bar} px"
    looker.listen("docs/cluster.md")


def _check_search_of_word(looker):
    page, heading, word = _rare_word(looker.made)
    looker.open(pages.START)
    _type(looker, word)
    found = looker.run("return [...document.querySelectorAll('#found a')].map((each) => each.getAttribute('href'))")
    wanted = f"{page.address}#{heading.anchor}"
    assert found == [wanted], f"{word}: {found}, not {wanted}"
    looker.run("document.querySelector('#found a').click()")
    looker.wait(f"location.hash === '#{heading.anchor}'", f"the section with {word}")
    assert looker.run(f"return document.body.textContent.toLowerCase().includes('{word}')"), word
    looker.listen(page.path)


def _rare_word(made):
    """One that a single section has, and that is in no heading."""
    texts = [f"{page.title} {each.text} {each.said}".lower() for page in made.values() for each in page.headings]
    for page in made.values():
        for heading in page.headings[1:]:
            for word in RARE_WORD.findall(heading.said):
                if sum(word in text for text in texts) == 1 and word not in f"{page.title} {heading.text}".lower():
                    return page, heading, word
    raise AssertionError("no section has a word of its own")


# ---- keys
def _check_keys(looker, width):
    browser.resize(looker.driver, width)
    looker.open(pages.START)
    _tab_to(looker, "document.activeElement.className === 'skip'", "the link to the text")
    if width == browser.NARROW:
        assert not looker.run("return document.querySelector('.pages').checkVisibility()"), "the navigation is open at the start"
        _tab_to(looker, "document.activeElement.tagName === 'SUMMARY'", "the summary of the navigation")
        looker.press("\ue007")
    _tab_to(looker, "document.activeElement.closest('.pages')", "the navigation")
    assert looker.run("return getComputedStyle(document.activeElement).outlineStyle") != "none", "the focus is not to be seen"
    wanted = looker.run("return document.activeElement.href")
    looker.press("\ue007")
    looker.wait(f"location.href === '{wanted}'", wanted)
    looker.listen(wanted)


def _tab_to(looker, script, what):
    for _ in range(MOST_TABS):
        looker.press("\ue004")
        if looker.run(f"return {script}"):
            return
    focused = looker.run("return document.activeElement.outerHTML")
    raise AssertionError(f"{what}: not within {MOST_TABS} tabs; the focus is on {focused[:120]}")


# ---- versions
def _check_versions(looker):
    looker.driver.get(f"{looker.root}/index.html")
    looker.wait(f"location.pathname === '/{VERSION}/index.html'", "the newest version")
    there = looker.run("return [...document.querySelector('select.version').options].map((each) => each.value)")
    assert there[0] == VERSION and len(there) > 1, there
    looker.run("const list = document.querySelector('select.version'); list.value = arguments[0]; list.dispatchEvent(new Event('change'))",
               there[1])
    looker.wait(f"location.pathname === '/{there[1]}/index.html'", f"version {there[1]}")
    looker.driver.get(f"{looker.root}/index.html#all")
    assert looker.run("return document.querySelectorAll('main li a').length") == len(there), "index.html#all is no list"
    looker.listen("index.html")
