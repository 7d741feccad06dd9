//! `cat`: writes a file as it is.

use crate::console::{Console, End};
use crate::input::CHUNK_BYTES;
use crate::shape::{Arguments, Shape, one_path};
use crate::{input, lines};

pub(crate) const SHAPE: Shape = one_path("cat -- path", &[]);

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let path = arguments.first();
    let Some(mut input) = input::open_or_complain(path, console) else {
        return Ok(());
    };
    loop {
        match input.file.read(CHUNK_BYTES) {
            Ok(bytes) if bytes.is_empty() => return Ok(()),
            Ok(bytes) => console.write(&bytes)?,
            Err(error) => {
                lines::broken(path, &error, console);
                return Ok(());
            }
        }
    }
}
