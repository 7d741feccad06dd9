"""Sinks: a delivery comes in, and a receipt says what became of it."""

from typing import Optional

from tidegate_plugin import Refusal, Unknown
from wit_world import exports
from wit_world.imports.types import (
    Content_Parts,
    Delivery,
    Message,
    Part_Reference,
    Receipt,
    ReceiptStatus,
)

__all__ = ["Delivery", "Refusal", "Sink", "Unknown", "text_of"]


class Sink(exports.Sink):
    """A sink. Its own class of this name has `take`."""

    def take(self, delivery: Delivery) -> Optional[str]:
        """Takes one delivery, once; gives a JSON object for the caller's records, or nothing.

        A `Refusal` rejects it: nothing of it has left. `Unknown` says that some of it may have.
        """
        raise NotImplementedError

    def deliver(self, delivery: Delivery) -> Receipt:
        try:
            metadata = self.take(delivery)
        except Refusal as refusal:
            rejected = ReceiptStatus.REJECTED
            return Receipt(delivery.delivery_id, rejected, None, refusal.failure, None)
        except Unknown as lost:
            unknown = ReceiptStatus.UNKNOWN
            return Receipt(delivery.delivery_id, unknown, None, lost.failure, None)
        accepted = ReceiptStatus.ACCEPTED
        artifacts = delivery.artifacts or None
        return Receipt(delivery.delivery_id, accepted, artifacts, None, metadata)


def text_of(message: Message) -> str:
    """What a message says as text: its text, its JSON, or its parts one below the other."""
    content = message.content
    if not isinstance(content, Content_Parts):
        return content.value
    return "\n".join(
        part.value.uri if isinstance(part, Part_Reference) else part.value
        for part in content.value
    )
