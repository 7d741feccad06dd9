//! What a node sees and writes: the context, or a layer over it that can be thrown away.
//!
//! A lane of a fanout and the body of a `try` write to a layer of their own and see what is below
//! through it. So a lane's own output is at hand, and nothing is copied to be rolled back.

use serde_json::{Map, Value};
use tidegate_contract::JsonObject;

use super::path::{self, Path, PathError, Segment};

/// A layer over others, which it does not change.
pub(super) struct Scope<'s> {
    below: Below<'s>,
    own: Layer,
}

/// What a layer lies over.
#[derive(Clone, Copy)]
enum Below<'s> {
    Nothing,
    Value(&'s Value),
    Scope(&'s Scope<'s>),
}

/// What one layer holds.
pub(super) enum Layer {
    /// This, whatever is below.
    Whole(Value),
    /// What is below, with some keys over it, in the order in which they were first written.
    Over(Vec<(String, Self)>),
}

impl<'s> Scope<'s> {
    /// A context by itself.
    pub(super) fn of(context: Value) -> Self {
        Self {
            below: Below::Nothing,
            own: Layer::Whole(context),
        }
    }

    /// A context that is only read.
    pub(super) fn reading(context: &'s Value) -> Self {
        Self {
            below: Below::Value(context),
            own: Layer::Over(Vec::new()),
        }
    }

    /// An empty layer over another scope.
    pub(super) fn over(below: &'s Self) -> Self {
        Self {
            below: Below::Scope(below),
            own: Layer::Over(Vec::new()),
        }
    }

    /// What this layer holds itself.
    pub(super) fn into_own(self) -> Layer {
        self.own
    }

    /// Whether something is at a place.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.has_at(path.segments())
    }

    fn has_at(&self, segments: &[Segment]) -> bool {
        match self.own.at(segments) {
            Some((Layer::Whole(value), rest)) => path::get(rest, value).is_some(),
            Some((Layer::Over(entries), _)) if !entries.is_empty() => true,
            _ => match self.below {
                Below::Nothing => false,
                Below::Value(value) => path::get(segments, value).is_some(),
                Below::Scope(scope) => scope.has_at(segments),
            },
        }
    }

    /// Copies what is at a place. Each piece is shown to `take` before it is copied.
    pub(super) fn copy<E: From<PathError>>(
        &self,
        path: &Path,
        take: &mut dyn FnMut(&Value) -> Result<(), E>,
    ) -> Result<Value, E> {
        let value = self.copy_at(path.segments(), take)?;
        value.ok_or_else(|| PathError::NotFound(path.to_string()).into())
    }

    fn copy_at<E>(
        &self,
        segments: &[Segment],
        take: &mut dyn FnMut(&Value) -> Result<(), E>,
    ) -> Result<Option<Value>, E> {
        match self.own.at(segments) {
            Some((Layer::Whole(value), rest)) => copied(path::get(rest, value), take),
            Some((Layer::Over(entries), _)) if !entries.is_empty() => {
                let mut value = self.copy_below(segments, take)?.unwrap_or_default();
                lay_copies(&mut value, entries, take)?;
                Ok(Some(value))
            }
            _ => self.copy_below(segments, take),
        }
    }

    fn copy_below<E>(
        &self,
        segments: &[Segment],
        take: &mut dyn FnMut(&Value) -> Result<(), E>,
    ) -> Result<Option<Value>, E> {
        match self.below {
            Below::Nothing => Ok(None),
            Below::Value(value) => copied(path::get(segments, value), take),
            Below::Scope(scope) => scope.copy_at(segments, take),
        }
    }

    /// Writes a value to this layer, making missing mappings on the way. The root takes mappings only.
    pub(super) fn set(&mut self, path: &Path, value: Value) -> Result<(), PathError> {
        let segments = path.segments();
        let written = if segments.is_empty() && value.is_object() {
            self.own = Layer::Whole(value);
            Some(())
        } else {
            self.own.set(self.below, (segments, 0), value)
        };
        written.ok_or_else(|| PathError::Occupied(path.to_string()))
    }

    /// Takes over what a layer over this scope holds.
    pub(super) fn absorb(&mut self, layer: Layer) {
        self.own.absorb(layer);
    }
}

impl Below<'_> {
    /// Whether writing may go through a place: nothing is there, a null, or a mapping.
    fn is_open(self, segments: &[Segment]) -> bool {
        let open =
            |value: Option<&Value>| value.is_none_or(|value| value.is_null() || value.is_object());
        match self {
            Self::Nothing => true,
            Self::Value(value) => open(path::get(segments, value)),
            Self::Scope(scope) => match scope.own.at(segments) {
                Some((Layer::Whole(value), rest)) => open(path::get(rest, value)),
                Some((Layer::Over(entries), _)) if !entries.is_empty() => true,
                _ => scope.below.is_open(segments),
            },
        }
    }
}

impl Layer {
    /// The part of the layer that says what is at a place, and the way that is left inside it. `None`
    /// where the layer says nothing.
    fn at<'a>(&'a self, segments: &'a [Segment]) -> Option<(&'a Self, &'a [Segment])> {
        match (self, segments.split_first()) {
            (Self::Over(entries), Some((Segment::Key(key), rest))) => {
                let (_, inside) = entries.iter().find(|(known, _)| known == key)?;
                inside.at(rest)
            }
            (Self::Over(_), Some((Segment::Index(_), _))) => None,
            _ => Some((self, segments)),
        }
    }

    /// Writes below the place that the first `at` segments lead to, which is where this part stands.
    fn set(
        &mut self,
        below: Below<'_>,
        (segments, at): (&[Segment], usize),
        value: Value,
    ) -> Option<()> {
        let entries = match self {
            Self::Whole(whole) => return path::set(segments.get(at..)?, whole, value),
            Self::Over(entries) => entries,
        };
        let Segment::Key(key) = segments.get(at)? else {
            return None;
        };
        let is_last = at + 1 == segments.len();
        let known = entries.iter().position(|(known, _)| known == key);
        if known.is_none() {
            if !is_last && !below.is_open(segments.get(..=at)?) {
                return None;
            }
            entries.push((key.clone(), Self::Over(Vec::new())));
        }
        let known = known.unwrap_or(entries.len() - 1);
        let (_, inside) = entries.get_mut(known)?;
        if is_last {
            *inside = Self::Whole(value);
            return Some(());
        }
        inside.set(below, (segments, at + 1), value)
    }

    fn absorb(&mut self, other: Self) {
        match (&mut *self, other) {
            (_, whole @ Self::Whole(_)) => *self = whole,
            (Self::Whole(value), Self::Over(entries)) => lay(value, entries),
            (Self::Over(mine), Self::Over(entries)) => {
                for (key, layer) in entries {
                    match mine.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, inside)) => inside.absorb(layer),
                        None => mine.push((key, layer)),
                    }
                }
            }
        }
    }

    /// What the layer holds, as one value.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Whole(value) => value,
            Self::Over(entries) => {
                let mut value = Value::Object(Map::new());
                lay(&mut value, entries);
                value
            }
        }
    }
}

/// A mapping in the place of anything else.
fn mapping(value: &mut Value) -> Option<&mut JsonObject> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

fn lay(value: &mut Value, entries: Vec<(String, Layer)>) {
    let Some(map) = mapping(value) else { return };
    for (key, layer) in entries {
        let place = map.entry(key).or_insert(Value::Null);
        match layer {
            Layer::Whole(value) => *place = value,
            Layer::Over(entries) => lay(place, entries),
        }
    }
}

fn lay_copies<E>(
    value: &mut Value,
    entries: &[(String, Layer)],
    take: &mut dyn FnMut(&Value) -> Result<(), E>,
) -> Result<(), E> {
    let Some(map) = mapping(value) else {
        return Ok(());
    };
    for (key, layer) in entries {
        let place = map.entry(key.as_str()).or_insert(Value::Null);
        match layer {
            Layer::Whole(value) => {
                take(value)?;
                value.clone_into(place);
            }
            Layer::Over(entries) => lay_copies(place, entries, take)?,
        }
    }
    Ok(())
}

fn copied<E>(
    value: Option<&Value>,
    take: &mut dyn FnMut(&Value) -> Result<(), E>,
) -> Result<Option<Value>, E> {
    let Some(value) = value else {
        return Ok(None);
    };
    take(value)?;
    Ok(Some(value.clone()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn context() -> Value {
        json!({"a": {"x": 1, "list": [1]}, "n": null, "s": "text"})
    }

    fn set(scope: &mut Scope<'_>, path: &str, value: Value) -> bool {
        scope.set(&Path::parse(path).unwrap(), value).is_ok()
    }

    fn get(scope: &Scope<'_>, path: &str) -> Option<Value> {
        let path = Path::parse(path).unwrap();
        let copy = scope.copy::<PathError>(&path, &mut |_| Ok(())).ok();
        assert_eq!(scope.has(&path), copy.is_some(), "{path}");
        copy
    }

    #[test]
    fn gap12_a_layer_sees_through_and_holds_only_what_it_wrote() {
        let below = Scope::of(context());
        let mut scope = Scope::over(&below);
        assert_eq!(get(&scope, "$.a.x"), Some(json!(1)));
        assert!(set(&mut scope, "$.a.y.z", json!(2)));
        assert!(set(&mut scope, "$.n.m", json!(3)));
        assert!(set(&mut scope, "$.s", json!({"whole": true})));
        assert_eq!(
            get(&scope, "$.a"),
            Some(json!({"x": 1, "list": [1], "y": {"z": 2}}))
        );
        assert_eq!(get(&scope, "$.a.y"), Some(json!({"z": 2})));
        assert_eq!(get(&scope, "$.a.list[0]"), Some(json!(1)));
        assert_eq!(get(&scope, "$.n"), Some(json!({"m": 3})));
        assert_eq!(get(&scope, "$.s.whole"), Some(json!(true)));
        assert_eq!(get(&scope, "$.s.other"), None);
        let inner = Scope::over(&scope);
        let whole = json!({
            "a": {"x": 1, "list": [1], "y": {"z": 2}}, "n": {"m": 3}, "s": {"whole": true},
        });
        assert_eq!(get(&inner, "$"), Some(whole.clone()));
        drop(inner);
        let own = scope.into_own();
        let mut below = below;
        assert_eq!(
            get(&below, "$.n"),
            Some(Value::Null),
            "nothing was written below"
        );
        below.absorb(own);
        assert_eq!(get(&below, "$"), Some(whole));
    }

    #[test]
    fn i11_writing_replaces_nothing_on_the_way_in_any_layer() {
        let below = Scope::of(context());
        let mut middle = Scope::over(&below);
        assert!(set(&mut middle, "$.t", json!("text")));
        let mut scope = Scope::over(&middle);
        for path in [
            "$.s.b",
            "$.a.x.b",
            "$.a.list[0]",
            "$.t.b",
            "$.a.list.b",
            "$",
        ] {
            assert!(!set(&mut scope, path, json!(1)), "{path}");
        }
        assert!(set(&mut scope, "$", json!({"only": 1})));
        assert_eq!(get(&scope, "$.a"), None);
        assert_eq!(scope.into_own().into_value(), json!({"only": 1}));
    }

    #[test]
    fn gap12_layers_over_layers_come_together() {
        let below = Scope::of(context());
        let mut lane = Scope::over(&below);
        assert!(set(&mut lane, "$.a.y", json!(1)));
        let mut inside = Scope::over(&lane);
        assert!(set(&mut inside, "$.a.z", json!(2)));
        assert!(set(&mut inside, "$.new", json!(3)));
        assert_eq!(
            get(&inside, "$.a"),
            Some(json!({"x": 1, "list": [1], "y": 1, "z": 2}))
        );
        let own = inside.into_own();
        lane.absorb(own);
        let output = lane.into_own().into_value();
        assert_eq!(output, json!({"a": {"y": 1, "z": 2}, "new": 3}));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Two layers over a context are read and written like one context by itself.
        #[test]
        fn gap12_layers_mean_what_a_copy_would(
            writes in prop::collection::vec((0..PLACES.len(), 0..5_usize), 0..12),
            half in 0..12_usize,
        ) {
            let mut copy = context();
            let below = Scope::of(context());
            let mut middle = Scope::over(&below);
            let (first, second) = writes.split_at(half.min(writes.len()));
            let write = |scope: &mut Scope<'_>, copy: &mut Value, (at, value): (usize, usize)| {
                let values = [json!(null), json!(1), json!({}), json!({"x": 2}), json!([3])];
                let path = Path::parse(PLACES[at]).unwrap();
                let same = path.set(copy, values[value].clone()).is_ok();
                (scope.set(&path, values[value].clone()).is_ok(), same)
            };
            for &one in first {
                let (layered, same) = write(&mut middle, &mut copy, one);
                prop_assert_eq!(layered, same);
            }
            let mut top = Scope::over(&middle);
            for &one in second {
                let (layered, same) = write(&mut top, &mut copy, one);
                prop_assert_eq!(layered, same);
            }
            for place in PLACES.iter().chain(&["$"]) {
                let path = Path::parse(place).unwrap();
                prop_assert_eq!(get(&top, place), path.get(&copy).ok().cloned());
            }
            let own = top.into_own();
            middle.absorb(own);
            prop_assert_eq!(get(&middle, "$"), Some(copy));
        }
    }

    const PLACES: [&str; 9] = [
        "$.a",
        "$.a.x",
        "$.a.x.y",
        "$.a.list",
        "$.n",
        "$.n.m",
        "$.new.deep",
        "$.s.t",
        "$.a.new",
    ];
}
