//! `pwd`: names the workspace; where it lies on the host is nobody's business.

use crate::console::{Console, End};
use crate::shape::{Arguments, Operands, Shape};

pub(crate) const SHAPE: Shape = Shape {
    usage: "pwd",
    options: &[],
    operands: Operands::None,
    count: 0..=0,
};

pub(crate) fn run(_arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    console.line("/workspace")
}
