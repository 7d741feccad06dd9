"""`words` in Python, for componentize-py."""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.words import Counted


class Words(exports.Words):
    def count(self, text: str) -> Counted:
        words = text.split()
        return Counted(len(words), sum(map(len, words)))

    def longest(self, text: str) -> str:
        words = text.split()
        if not words:
            raise Err("no words")
        return max(words, key=len)
