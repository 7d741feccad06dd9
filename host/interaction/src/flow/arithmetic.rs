//! Arithmetic on JSON numbers: whole numbers exactly, the others as floats, and never anything that
//! JSON can't carry.

use serde_json::Number;

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `$add`: the sum.
    Add,
    /// `$sub`: the first without the second.
    Subtract,
    /// `$mul`: the product.
    Multiply,
    /// `$div`: the quotient; of whole numbers a whole one where it is exact, else a float.
    Divide,
    /// `$mod`: what division to the next lower whole number leaves; it has the sign of the second.
    Modulo,
}

/// Why two numbers give none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoNumber {
    Zero,
    Overflow,
}

impl Arithmetic {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Divide,
        Self::Modulo,
    ];

    /// The operator.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "$add",
            Self::Subtract => "$sub",
            Self::Multiply => "$mul",
            Self::Divide => "$div",
            Self::Modulo => "$mod",
        }
    }

    /// The number that two give. Whole numbers stay whole; where one of the two is a float, the other
    /// is taken as the nearest float.
    pub(super) fn of(self, left: &Number, right: &Number) -> Result<Number, NoNumber> {
        if let (Some(left), Some(right)) = (left.as_i128(), right.as_i128())
            && let Some(whole) = self.of_whole(left, right)?
        {
            return Number::from_i128(whole).ok_or(NoNumber::Overflow);
        }
        let (Some(left), Some(right)) = (left.as_f64(), right.as_f64()) else {
            return Err(NoNumber::Overflow);
        };
        let float = match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide | Self::Modulo if right == 0.0 => return Err(NoNumber::Zero),
            Self::Divide => left / right,
            Self::Modulo => modulo(left, right),
        };
        Number::from_f64(float).ok_or(NoNumber::Overflow)
    }

    /// `None` for a quotient that is not whole. Two numbers of JSON have at most 65 bits each, so that
    /// only a product can be too much for 128.
    fn of_whole(self, left: i128, right: i128) -> Result<Option<i128>, NoNumber> {
        let whole = match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide | Self::Modulo if right == 0 => return Err(NoNumber::Zero),
            Self::Divide if left.checked_rem(right) != Some(0) => return Ok(None),
            Self::Divide => left.checked_div(right),
            Self::Modulo => left.checked_rem(right).map(|rest| {
                let is_across = rest != 0 && (rest < 0) != (right < 0);
                if is_across { rest + right } else { rest }
            }),
        };
        whole.map(Some).ok_or(NoNumber::Overflow)
    }
}

/// The remainder of floats is exact; only bringing it to the other sign rounds.
fn modulo(left: f64, right: f64) -> f64 {
    let rest = left % right;
    let is_across = rest != 0.0 && (rest < 0.0) != (right < 0.0);
    if is_across { rest + right } else { rest }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Arithmetic::{Add, Divide, Modulo, Multiply, Subtract};
    use super::*;

    fn number(value: &Value) -> &Number {
        value.as_number().unwrap()
    }

    type Given = Result<Value, NoNumber>;

    fn check() -> impl Fn(Value, Arithmetic, Value, Given) {
        |left, operator, right, expected| {
            let given = operator.of(number(&left), number(&right));
            let given = given.map(Value::Number);
            assert_eq!(given, expected, "{left} {operator:?} {right}");
        }
    }

    #[test]
    fn i11_whole_numbers_are_exact_or_refused() {
        let check = check();
        let (over, zero) = (Err(NoNumber::Overflow), Err(NoNumber::Zero));
        check(
            json!(9_007_199_254_740_993_u64),
            Add,
            json!(1),
            Ok(json!(9_007_199_254_740_994_u64)),
        );
        check(json!(u64::MAX - 1), Add, json!(1), Ok(json!(u64::MAX)));
        check(json!(u64::MAX), Add, json!(1), over.clone());
        check(json!(i64::MIN + 1), Subtract, json!(1), Ok(json!(i64::MIN)));
        check(json!(i64::MIN), Subtract, json!(1), over.clone());
        check(json!(u64::MAX), Subtract, json!(u64::MAX), Ok(json!(0)));
        check(
            json!(4_294_967_295_u64),
            Multiply,
            json!(4_294_967_297_u64),
            Ok(json!(u64::MAX)),
        );
        check(
            json!(4_294_967_296_u64),
            Multiply,
            json!(4_294_967_296_u64),
            over.clone(),
        );
        check(
            json!(i64::MIN),
            Multiply,
            json!(-1),
            Ok(json!(9_223_372_036_854_775_808_u64)),
        );
        check(json!(u64::MAX), Multiply, json!(u64::MAX), over.clone());
        check(json!(i64::MIN), Multiply, json!(u64::MAX), over.clone());
        check(json!(6), Divide, json!(3), Ok(json!(2)));
        check(json!(7), Divide, json!(2), Ok(json!(3.5)));
        check(json!(-7), Divide, json!(2), Ok(json!(-3.5)));
        check(
            json!(i64::MIN),
            Divide,
            json!(-1),
            Ok(json!(9_223_372_036_854_775_808_u64)),
        );
        check(json!(1), Divide, json!(0), zero.clone());
        check(json!(1), Modulo, json!(0), zero.clone());
    }

    #[test]
    fn i11_a_modulo_has_the_sign_of_its_second_number() {
        let check = check();
        check(json!(7), Modulo, json!(3), Ok(json!(1)));
        check(json!(-7), Modulo, json!(3), Ok(json!(2)));
        check(json!(7), Modulo, json!(-3), Ok(json!(-2)));
        check(json!(-7), Modulo, json!(-3), Ok(json!(-1)));
        check(json!(6), Modulo, json!(-3), Ok(json!(0)));
        check(json!(u64::MAX), Modulo, json!(2), Ok(json!(1)));
    }

    #[test]
    fn i11_floats_are_never_infinite() {
        let check = check();
        let (over, zero) = (Err(NoNumber::Overflow), Err(NoNumber::Zero));
        check(json!(0.5), Add, json!(1), Ok(json!(1.5)));
        check(json!(1), Add, json!(1.0), Ok(json!(2.0)));
        check(json!(1.0), Divide, json!(0.0), zero.clone());
        check(json!(1), Divide, json!(-0.0), zero.clone());
        check(json!(1.5), Modulo, json!(0), zero);
        check(json!(-1.5), Modulo, json!(1), Ok(json!(0.5)));
        check(json!(5.5), Modulo, json!(-2), Ok(json!(-0.5)));
        check(json!(1e308), Multiply, json!(10), over.clone());
        check(json!(-1e308), Subtract, json!(1e308), over.clone());
        check(json!(1e308), Divide, json!(1e-10), over);
    }
}
