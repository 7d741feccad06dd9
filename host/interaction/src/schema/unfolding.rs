//! How far a schema reaches when its references are followed: what bounds checking with it.

use std::collections::BTreeSet;

use tidegate_contract::{JsonObject, Value};

use super::{DEPTH, PATTERNS, STEPS, SchemaError, short};

/// How a keyword of JSON Schema 2020-12 holds subschemas, and which place of the document they
/// apply to. Keywords that are not in the table hold none.
#[derive(Clone, Copy)]
enum Holds {
    /// A schema or a list of schemas, applied to the same place.
    Here,
    /// A mapping to schemas, applied to the same place.
    MapHere,
    /// A schema or a list of schemas, applied to some place inside.
    Inside,
    /// A mapping to schemas, each applied to the property of its name.
    Properties,
    /// A mapping from patterns to schemas, applied to some place inside.
    PatternProperties,
}

fn holds(keyword: &str) -> Option<Holds> {
    Some(match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => Holds::Here,
        "dependentSchemas" | "dependencies" => Holds::MapHere,
        "items"
        | "prefixItems"
        | "additionalItems"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Holds::Inside,
        "properties" => Holds::Properties,
        "patternProperties" => Holds::PatternProperties,
        _ => return None,
    })
}

/// Follows every reference of a schema, again from each place that references lead to.
///
/// What makes a schema explode: references that double on the way down, and a recursion that comes
/// back twice to one place of the document, which a document nested n deep then answers 2^n times.
/// The first shows as too many steps, the second as two returns with one location. A long chain
/// shows as depth, which is counted across references.
pub(super) struct Unfolding<'a> {
    root: &'a Value,
    steps: u32,
    depth: usize,
    patterns: usize,
    /// References being followed: where they lead, and at which place of the document.
    open: Vec<(&'a str, String)>,
    /// Places below the start at which the walk came back to the start.
    returns: BTreeSet<String>,
    /// Everything references lead to.
    targets: BTreeSet<&'a str>,
}

impl<'a> Unfolding<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self {
            root,
            steps: 0,
            depth: 0,
            patterns: 0,
            open: Vec::new(),
            returns: BTreeSet::new(),
            targets: BTreeSet::from(["#"]),
        }
    }

    /// Gives the number of steps that one look at one place of a document can take.
    pub(super) fn check(mut self) -> Result<u32, SchemaError> {
        let mut done = BTreeSet::new();
        while let Some(target) = self.targets.difference(&done).next().copied() {
            done.insert(target);
            self.returns.clear();
            self.follow(target, "")?;
        }
        Ok(self.steps)
    }

    fn follow(&mut self, target: &'a str, place: &str) -> Result<(), SchemaError> {
        let nowhere = || SchemaError::Reference(short(target));
        let pointer = target.strip_prefix('#').ok_or_else(nowhere)?;
        let found = self.root.pointer(pointer).ok_or_else(nowhere)?;
        self.open.push((target, place.to_owned()));
        let outcome = self.walk(found, place);
        self.open.pop();
        outcome
    }

    fn walk(&mut self, schema: &'a Value, place: &str) -> Result<(), SchemaError> {
        self.steps += 1;
        self.depth += 1;
        if self.steps > STEPS {
            return Err(SchemaError::TooLarge);
        }
        if self.depth > DEPTH {
            return Err(SchemaError::TooDeep);
        }
        let keywords = schema.as_object().into_iter().flatten();
        for (keyword, value) in keywords {
            match (keyword.as_str(), holds(keyword)) {
                ("$ref", _) => self.reference(value, place)?,
                ("$dynamicRef" | "$recursiveRef" | "$id" | "$schema", _) => {
                    self.refuse_rebasing(keyword, value)?;
                }
                ("pattern", _) => self.pattern()?,
                (_, Some(holds)) => self.held(holds, value, place)?,
                (_, None) => {}
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn held(&mut self, holds: Holds, value: &'a Value, place: &str) -> Result<(), SchemaError> {
        let inside = || format!("{place}/*");
        match holds {
            Holds::Here => self.each(value, place),
            Holds::Inside => self.each(value, &inside()),
            Holds::MapHere => self.map(value, |_| place.to_owned()),
            Holds::Properties => {
                self.map(value, |name| format!("{place}/{}", name.replace('/', "~1")))
            }
            Holds::PatternProperties => {
                let patterns = value.as_object().map_or(0, JsonObject::len);
                (0..patterns).try_for_each(|_| self.pattern())?;
                self.map(value, |_| inside())
            }
        }
    }

    fn each(&mut self, value: &'a Value, place: &str) -> Result<(), SchemaError> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.walk(item, place)),
            schema => self.walk(schema, place),
        }
    }

    fn map(&mut self, value: &'a Value, place: impl Fn(&str) -> String) -> Result<(), SchemaError> {
        let entries = value.as_object().into_iter().flatten();
        for (name, schema) in entries {
            self.walk(schema, &place(name))?;
        }
        Ok(())
    }

    fn pattern(&mut self) -> Result<(), SchemaError> {
        self.patterns += 1;
        if self.patterns > PATTERNS {
            return Err(SchemaError::TooManyPatterns);
        }
        Ok(())
    }

    /// What makes references lead elsewhere than this walk follows them.
    fn refuse_rebasing(&self, keyword: &str, value: &Value) -> Result<(), SchemaError> {
        let harmless = match keyword {
            "$schema" => self.open.len() == 1 && self.depth == 1,
            "$id" => self.open.len() == 1 && self.depth == 1 && !self.has_references(),
            _ => false,
        };
        if harmless {
            return Ok(());
        }
        Err(SchemaError::Reference(short(&format!(
            "{keyword}: {value}"
        ))))
    }

    fn has_references(&self) -> bool {
        let mut ahead = vec![self.root];
        while let Some(value) = ahead.pop() {
            match value {
                Value::Array(items) => ahead.extend(items),
                Value::Object(map) if map.contains_key("$ref") => return true,
                Value::Object(map) => ahead.extend(map.values()),
                _ => {}
            }
        }
        false
    }

    fn reference(&mut self, target: &'a Value, place: &str) -> Result<(), SchemaError> {
        let Some(target) = target.as_str() else {
            return Err(SchemaError::Reference(short(&target.to_string())));
        };
        self.targets.insert(target);
        let Some(depth) = self.open.iter().position(|(open, _)| *open == target) else {
            return self.follow(target, place);
        };
        // Deeper cycles are measured when the walk starts at their own target.
        if depth == 0 && !self.returns.insert(place.to_owned()) {
            return Err(SchemaError::Recursive(short(target)));
        }
        if self
            .open
            .get(depth)
            .is_some_and(|(_, start)| start == place)
        {
            return Err(SchemaError::Recursive(short(target)));
        }
        Ok(())
    }
}
