//! The file sink: appends each delivery to one file, as one line of JSON.
//!
//! A record is handed over in one write and put on the disk before it is accepted. A line that an
//! earlier writer left torn stays as it is: the record then starts with a newline. Deliberately
//! absent: rotating, locking, dropping repeats, making folders.

use delivery::{Delivery, Receipt, Sink};

use crate::append::Fault;

mod append;
mod place;
mod settings;

struct File;

delivery::export!(File);

impl Sink for File {
    fn deliver(delivery: Delivery) -> Receipt {
        let path = match settings::path(&delivery::config()) {
            Ok(path) => path,
            Err(reason) => return delivery::rejected(delivery, "CONFIG_INVALID", &reason),
        };
        match append::append(&path, &delivery::object(&delivery)) {
            Ok(()) => delivery::accepted(delivery, None),
            Err(Fault::Before(reason)) => delivery::rejected(delivery, "FILE_REJECTED", reason),
            Err(Fault::After(reason)) => delivery::unknown(delivery, reason),
        }
    }
}
