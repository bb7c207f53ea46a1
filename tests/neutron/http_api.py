"""Requests of JSON over HTTP, as OpenStack's services take them."""
import json
import urllib.error
import urllib.request

ANSWER_SECONDS = 60


class Refused(Exception):
    """By a service, with its reason."""

    def __init__(self, what, refusal):
        super().__init__(f"{what}: {refusal.code} {refusal.read().decode(errors='replace')}")
        self.code = refusal.code


def ask(method, url, body=None, headers=None):
    """(the answer's value, None where it has none; its headers)"""
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, sent, {"Content-Type": "application/json", **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
            return json.loads(answer.read() or "null"), answer.headers
    except urllib.error.HTTPError as refusal:
        raise Refused(f"{method} {url}", refusal) from None
