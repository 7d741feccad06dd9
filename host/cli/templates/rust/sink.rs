//! The sink `{{name}}`: prints the text of each message, for which it is granted `stdout`.

use tidegate_plugin::{Delivery, Receipt, Sink};

struct Plugin;

tidegate_plugin::export_sink!(Plugin);

impl Sink for Plugin {
    fn deliver(delivery: Delivery) -> Receipt {
        let text = delivery.text();
        if text.trim().is_empty() {
            return delivery.rejected("BLANK", "there is nothing to print");
        }
        println!("{text}");
        delivery.accepted(None)
    }
}
