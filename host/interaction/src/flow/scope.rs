//! What a node sees and writes: the context, or a layer over it that can be thrown away.
//!
//! A lane of a fanout and the body of a `try` write to a layer of their own and see what is below
//! through it. So a lane's own output is at hand, and nothing is copied to be rolled back.

use std::collections::HashMap;

use serde_json::map::Entry;
use serde_json::{Map, Value};
use tidegate_contract::JsonObject;

use super::budget::bytes_of;
use super::path::{self, Occupied, Path, PathError, Segment};

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
    /// What is below, with some keys over it.
    Over(Entries),
}

/// The keys of a layer, in the order in which they were first written.
#[derive(Default)]
pub(super) struct Entries {
    order: Vec<(String, Layer)>,
    positions: HashMap<String, usize>,
}

impl Entries {
    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn get(&self, key: &str) -> Option<&Layer> {
        let position = *self.positions.get(key)?;
        self.order.get(position).map(|(_, layer)| layer)
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Layer> {
        let position = *self.positions.get(key)?;
        self.order.get_mut(position).map(|(_, layer)| layer)
    }

    /// Adds a key that is not there yet.
    fn add(&mut self, key: String, layer: Layer) {
        self.positions.insert(key.clone(), self.order.len());
        self.order.push((key, layer));
    }
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
            own: Layer::Over(Entries::default()),
        }
    }

    /// An empty layer over another scope.
    pub(super) fn over(below: &'s Self) -> Self {
        Self {
            below: Below::Scope(below),
            own: Layer::Over(Entries::default()),
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
    /// Gives the bytes of what it replaced in this layer, if something was there.
    pub(super) fn set(&mut self, path: &Path, value: Value) -> Result<Option<usize>, PathError> {
        let segments = path.segments();
        let written = if segments.is_empty() && value.is_object() {
            let replaced = std::mem::replace(&mut self.own, Layer::Whole(value));
            Ok(Some(replaced.bytes()))
        } else {
            self.own.set(self.below, (segments, 0), value)
        };
        written.map_err(|Occupied| PathError::Occupied(path.to_string()))
    }

    /// Takes over what a layer over this scope holds, and gives the bytes of what that replaced.
    pub(super) fn absorb(&mut self, layer: Layer) -> usize {
        self.own.absorb(layer)
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
            (Self::Over(entries), Some((Segment::Key(key), rest))) => entries.get(key)?.at(rest),
            (Self::Over(_), Some((Segment::Index(_), _))) => None,
            _ => Some((self, segments)),
        }
    }

    /// Writes below the place that the first `at` segments lead to, which is where this part stands.
    /// Gives the bytes of what it replaced, if something was there.
    fn set(
        &mut self,
        below: Below<'_>,
        (segments, at): (&[Segment], usize),
        value: Value,
    ) -> Result<Option<usize>, Occupied> {
        let entries = match self {
            Self::Whole(whole) => {
                let rest = segments.get(at..).ok_or(Occupied)?;
                let replaced = path::set(rest, whole, value)?;
                return Ok(replaced.as_ref().map(bytes_of));
            }
            Self::Over(entries) => entries,
        };
        let Some(Segment::Key(key)) = segments.get(at) else {
            return Err(Occupied);
        };
        let is_last = at + 1 == segments.len();
        let was_there = entries.get(key).is_some();
        if !was_there {
            let is_open = |way: &[Segment]| below.is_open(way);
            if !is_last && !segments.get(..=at).is_some_and(is_open) {
                return Err(Occupied);
            }
            entries.add(key.clone(), Self::Over(Entries::default()));
        }
        let inside = entries.get_mut(key).ok_or(Occupied)?;
        if is_last {
            let replaced = std::mem::replace(inside, Self::Whole(value));
            return Ok(was_there.then(|| replaced.bytes()));
        }
        inside.set(below, (segments, at + 1), value)
    }

    /// Takes over another layer, and gives the bytes of what that replaced.
    fn absorb(&mut self, other: Self) -> usize {
        match (&mut *self, other) {
            (_, whole @ Self::Whole(_)) => std::mem::replace(self, whole).bytes(),
            (Self::Whole(value), Self::Over(entries)) => lay(value, entries),
            (Self::Over(mine), Self::Over(entries)) => {
                let mut replaced = 0;
                for (key, layer) in entries.order {
                    match mine.get_mut(&key) {
                        Some(inside) => replaced += key.len() + inside.absorb(layer),
                        None => mine.add(key, layer),
                    }
                }
                replaced
            }
        }
    }

    /// What it holds, as it was charged.
    fn bytes(&self) -> usize {
        match self {
            Self::Whole(value) => bytes_of(value),
            Self::Over(entries) => {
                let bytes = |(key, layer): &(String, Self)| key.len() + layer.bytes();
                entries.order.iter().map(bytes).sum()
            }
        }
    }

    /// What the layer holds, as one value.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Whole(value) => value,
            Self::Over(entries) => {
                let mut value = Value::Object(Map::new());
                let _nothing = lay(&mut value, entries);
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

/// Lays keys over a value, and gives the bytes of what they replaced.
fn lay(value: &mut Value, entries: Entries) -> usize {
    let Some(map) = mapping(value) else { return 0 };
    let mut replaced = 0;
    for (key, layer) in entries.order {
        let entry = map.entry(key);
        if let Entry::Occupied(known) = &entry {
            replaced += known.key().len();
            if matches!(layer, Layer::Whole(_)) {
                replaced += bytes_of(known.get());
            }
        }
        let place = entry.or_insert(Value::Null);
        match layer {
            Layer::Whole(value) => *place = value,
            Layer::Over(entries) => replaced += lay(place, entries),
        }
    }
    replaced
}

fn lay_copies<E>(
    value: &mut Value,
    entries: &Entries,
    take: &mut dyn FnMut(&Value) -> Result<(), E>,
) -> Result<(), E> {
    let Some(map) = mapping(value) else {
        return Ok(());
    };
    for (key, layer) in &entries.order {
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
        let _ = below.absorb(own);
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
        let _ = lane.absorb(own);
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
            let _ = middle.absorb(own);
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
