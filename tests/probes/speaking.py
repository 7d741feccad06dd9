"""What the dialects of the probes share: one HTTP request at a time, and the files of a folder."""

import http.client
import pathlib
import urllib.parse


class Speaking:
    """A service that is spoken to over HTTP, and the folder that it works in."""

    def __init__(self, base_url, work):
        self.base_url = base_url.rstrip("/")
        self.address = urllib.parse.urlsplit(base_url).netloc
        self.work = pathlib.Path(work).resolve()
        self.before = {path for path, _ in self.paths()}

    def request(self, method, path, fields=None, body=b""):
        """The status and the body of the answer."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        fields = dict(fields or {})
        if method == "POST":
            fields.setdefault("Content-Type", "application/octet-stream")
        connection.request(method, path, body=body or None, headers=fields)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text

    def paths(self):
        for path in self.work.rglob("*"):
            if path.is_file():
                yield path, path.name

    def files(self):
        """Names and contents of the files that are new since the last look."""
        found = [(path, name) for path, name in self.paths() if path not in self.before]
        self.before |= {path for path, _ in found}
        return [(name, path.read_bytes()) for path, name in found]
