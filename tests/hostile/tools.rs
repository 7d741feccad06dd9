//! The command tools under files, arguments and callers that mean harm, end to end.

mod bounds;
mod ends;
mod faults;
mod links;
mod names;
mod options;
mod own;
mod searches;
mod sizes;
mod walks;
