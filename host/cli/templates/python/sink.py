"""The sink `{{name}}`: prints the text of each message, for which it is granted `stdout`."""

import tidegate_plugin.sink as plugin
from tidegate_plugin.sink import Delivery, Refusal, text_of


class Sink(plugin.Sink):
    def take(self, delivery: Delivery) -> None:
        text = text_of(delivery.message)
        if not text.strip():
            raise Refusal("BLANK", "there is nothing to print")
        print(text, flush=True)
