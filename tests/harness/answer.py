"""A plugin's answer, and checks of it."""
import json
from dataclasses import dataclass

from harness.expectation import Failed, expect


@dataclass(frozen=True)
class Answer:
    command: str
    status: int
    stdout: bytes
    stderr: bytes

    def __str__(self):
        said = (self.stdout or self.stderr).decode(errors="replace").strip()
        return f"{self.command} exited {self.status} and said {' '.join(said.split())[:300] or 'nothing'}"

    def document(self):
        """Standard output, which has to be one JSON object."""
        try:
            document = json.loads(self.stdout)
        except ValueError as error:
            raise Failed(f"stdout is not one JSON document ({error}): {self}") from None
        expect(isinstance(document, dict), f"stdout is not a JSON object: {self}")
        return document

    def result(self):
        """The result of an ADD or VERSION, which has to succeed."""
        expect(self.status == 0, str(self))
        return self.document()

    def silent(self):
        """Success of a command that has no result."""
        expect(self.status == 0, str(self))
        expect(not self.stdout.strip(), f"stdout is not empty: {self}")

    def succeeded(self):
        return self.status == 0

    def error(self, codes=None, names=()):
        """Failure with an error object: its code among `codes` (a number or several), its text naming each of `names`."""
        expect(self.status != 0, f"no error: {self}")
        document = self.document()
        code = document.get("code")
        expect(isinstance(code, int) and not isinstance(code, bool) and code != 0, f"code is no error's: {self}")
        expect(isinstance(document.get("msg"), str) and document["msg"], f"msg is missing: {self}")
        if codes is not None:
            wanted = [codes] if isinstance(codes, int) else list(codes)
            expect(code in wanted, f"code {code}, not {' or '.join(map(str, wanted))}: {self}")
        text = document["msg"] + " " + str(document.get("details", ""))
        for name in names:
            expect(name.lower() in text.lower(), f"does not name {name}: {self}")
        return document
