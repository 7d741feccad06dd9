"""The sink `{{name}}`: prints the text of each message, for which it is granted `stdout`."""

import tidegate_plugin.sink as plugin
from tidegate_plugin.sink import Delivery, Refusal, Unknown, text_of


class Sink(plugin.Sink):
    def take(self, delivery: Delivery) -> None:
        text = text_of(delivery.message)
        if not text.strip():
            raise Refusal("BLANK", "there is nothing to print")
        try:
            print(text, flush=True)
        except OSError:
            # Lines of it may have been printed.
            raise Unknown("standard output did not take the whole message")
