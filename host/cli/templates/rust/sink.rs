//! The sink `{{name}}`: prints the text of each message, for which it is granted `stdout`.

use std::io::{self, Write};

use tidegate_plugin::{Delivery, Receipt, Sink};

struct Plugin;

tidegate_plugin::export_sink!(Plugin);

impl Sink for Plugin {
    fn deliver(delivery: Delivery) -> Receipt {
        let text = delivery.text();
        if text.trim().is_empty() {
            return delivery.rejected("BLANK", "there is nothing to print");
        }
        match print(&text) {
            Ok(()) => delivery.accepted(None),
            // Lines of it may have been printed.
            Err(_) => delivery.unknown("standard output did not take the whole message"),
        }
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}
