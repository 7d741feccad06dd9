//! Plain functions over every kind of type, as a stranger's component might have them.

mod bindings;

use bindings::Guest;
use bindings::exports::example::shapes::forms::{
    Color, Form, Guest as Forms, GuestHandle, Point, Style,
};

struct Shapes;

bindings::export!(Shapes with_types_in bindings);

impl Guest for Shapes {
    fn sum(a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
}

/// A resource, which is no tool.
struct Handle;

impl GuestHandle for Handle {
    fn new() -> Self {
        Self
    }

    fn size(&self) -> u32 {
        0
    }
}

impl Forms for Shapes {
    type Handle = Handle;

    fn echo_point(value: Point) -> Point {
        value
    }

    fn echo_form(value: Form) -> Form {
        value
    }

    fn optional(value: Option<Option<u32>>) -> Option<Option<u32>> {
        value
    }

    fn mixed(
        (letter, number): (char, f32),
        outcome: Result<u8, String>,
        looks: Style,
        shade: Color,
    ) -> (char, f32, Result<u8, String>, Style, Color) {
        (letter, number, outcome, looks, shade)
    }

    fn largest(signed: i64, unsigned: u64) -> (i64, u64) {
        (signed, unsigned)
    }

    fn bytes(value: Vec<u8>) -> Vec<u8> {
        value
    }

    fn greet(name: String, greeting: Option<String>) -> String {
        let greeting = greeting.as_deref().unwrap_or("Hello");
        format!("{greeting}, {name}!")
    }

    fn divide(a: f64, b: f64) -> f64 {
        a / b
    }

    fn parse(text: String) -> Result<i64, String> {
        text.parse()
            .ok()
            .ok_or_else(|| format!("not a number: {text}"))
    }

    fn refuse() -> Result<(), Color> {
        Err(Color::DarkBlue)
    }

    fn reveal() -> Result<String, String> {
        Err("cannot open /srv/host/secrets.txt".to_owned())
    }

    fn nothing() {}

    fn forever() -> u32 {
        let mut turns = 0_u32;
        loop {
            turns = std::hint::black_box(turns.wrapping_add(1));
        }
    }

    fn fill(bytes: u32) -> Vec<u8> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        std::hint::black_box(vec![7; bytes])
    }
}
