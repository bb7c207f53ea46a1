"""How templates become pages, and figures text."""
import json
import unittest

from harness.process import REPOSITORY
from performance import template
from performance.numbers import number, ratio, table
from performance.run import Run

FOLDER = REPOSITORY / "tests/bench"


def render(text):
    return template.render(text, Run(json.loads((FOLDER / "figures.json").read_text())), json.loads((FOLDER / "peers.json").read_text()))


class Templates(unittest.TestCase):
    def test_placeholders_are_figures_of_the_run(self):
        figures = json.loads((FOLDER / "figures.json").read_text())
        self.assertEqual(f"of {figures['date']}, {figures['commit']}", render("of {value:date}, {value:commit}"))

    def test_every_warning_of_the_run_is_told(self):
        figures = json.loads((FOLDER / "figures.json").read_text())
        told = template.render("{value:idle}", Run({**figures, "warnings": ["load average 3.0 at the start"]}), {})
        self.assertIn("load average 3.0 at the start", told)

    def test_an_unknown_placeholder_is_named(self):
        for text in ("{table:none}", "{value:none}", "{ratio:none}", "{none:add}"):
            with self.assertRaisesRegex(template.Wrong, text):
                render(text)

    def test_prose_has_no_figures_of_its_own(self):
        with self.assertRaisesRegex(template.Wrong, "12 ms"):
            render("an ADD takes 12 ms")
        render("## Scale\n\n### Extrapolated: more\n\nan ADD takes 12 ms\n\n## Next\n")

    def test_a_section_is_replaced_and_nothing_else(self):
        page = "# A\n\n## B\n\nold\n\n### of B\n\n## C\n\ntext\n"
        self.assertEqual("# A\n\n## B\n\nnew\n\n## C\n\ntext\n", template.with_section(page, "## B", "new"))
        self.assertEqual("# A\n\n## B\n\nold\n\n### of B\n\n## C\n\nnew\n", template.with_section(page, "## C", "new"))
        with self.assertRaises(template.Wrong):
            template.with_section(page, "## D", "new")


class Numbers(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual(["0", "0.0", "0.13", "3.1", "12.5", "61", "15,690"],
                         [number(each) for each in (0, 0.0, 0.131, 3.14, 12.46, 61.2, 15690.0)])

    def test_ratios(self):
        self.assertEqual(["1.9", "1.0", "0.84", "0.19", "1/66"], [ratio(each) for each in (1.87, 1.0, 0.84, 1 / 5.3, 1 / 66)])

    def test_tables(self):
        self.assertEqual("| | a |\n|---|---|\n| b | |", table(["", "a"], [["b", ""]]))


if __name__ == "__main__":
    unittest.main()
