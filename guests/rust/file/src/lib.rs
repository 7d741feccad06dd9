//! The file sink: appends each delivery to one file, as one line of JSON.
//!
//! A record is handed over in one write and put on the disk before it is accepted. A line that an
//! earlier writer left torn stays as it is: the record then starts with a newline. Deliberately
//! absent: rotating, locking, dropping repeats, making folders.

use tidegate_plugin::{Delivery, Receipt, Sink, context};

use crate::append::Fault;

mod append;
mod place;
mod settings;

struct File;

tidegate_plugin::export_sink!(File);

impl Sink for File {
    fn deliver(delivery: Delivery) -> Receipt {
        let path = match settings::path(&context::config()) {
            Ok(path) => path,
            Err(reason) => return delivery.rejected("CONFIG_INVALID", &reason),
        };
        match append::append(&path, &delivery.to_json()) {
            Ok(()) => delivery.accepted(None),
            Err(Fault::Before(reason)) => delivery.rejected("FILE_REJECTED", reason),
            Err(Fault::After(reason)) => delivery.unknown(reason),
        }
    }
}
