//! Sets of places in the context that are asked in the time of one path, however many there are: a
//! flow may be a stranger's.

use std::collections::HashMap;

use crate::flow::path::{Path, Segment};

/// Places, each as often as it was added.
#[derive(Default)]
pub(in crate::flow) struct Places {
    /// How many of them are here or inside.
    all: usize,
    /// How many of them are here.
    here: usize,
    inside: HashMap<Segment, Self>,
}

impl Places {
    pub(in crate::flow) fn of<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Self {
        let mut places = Self::default();
        for path in paths {
            places.add(path);
        }
        places
    }

    pub(super) fn add(&mut self, path: &Path) {
        let mut place = self;
        for segment in path.segments() {
            place.all += 1;
            place = place.inside.entry(segment.clone()).or_default();
        }
        place.all += 1;
        place.here += 1;
    }

    /// Takes out a place that was added.
    pub(super) fn remove(&mut self, path: &Path) {
        let mut place = self;
        for segment in path.segments() {
            place.all = place.all.saturating_sub(1);
            let Some(inside) = place.inside.get_mut(segment) else {
                return;
            };
            place = inside;
        }
        place.all = place.all.saturating_sub(1);
        place.here = place.here.saturating_sub(1);
    }

    /// Whether one of the places is this one, or stands around it.
    pub(in crate::flow) fn surround(&self, path: &Path) -> bool {
        self.walk(path).is_none()
    }

    /// Whether one of the places is this one, stands around it or inside it.
    pub(super) fn touch(&self, path: &Path) -> bool {
        self.walk(path).is_none_or(|inside| inside > 0)
    }

    /// How many of the places are inside of one; `None` where one of them is there or around it.
    fn walk(&self, path: &Path) -> Option<usize> {
        let mut place = self;
        for segment in path.segments() {
            if place.here > 0 {
                return None;
            }
            match place.inside.get(segment) {
                Some(inside) => place = inside,
                None => return Some(0),
            }
        }
        (place.here == 0).then_some(place.all)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path() -> impl Strategy<Value = Path> {
        let text = prop::collection::vec(prop::sample::select(vec![".a", ".b", "[0]"]), 0..4);
        text.prop_map(|segments| Path::parse(&format!("${}", segments.concat())).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn i11_a_set_of_places_answers_as_each_of_them_would(
            kept in prop::collection::vec(path(), 0..5),
            removed in prop::collection::vec(path(), 0..3),
            asked in path(),
        ) {
            let mut places = Places::of(kept.iter().chain(&removed));
            for path in &removed {
                places.remove(path);
            }
            let touches = kept.iter().any(|place| place.overlaps(&asked));
            let surrounds = kept.iter().any(|place| asked.within(place).is_some());
            prop_assert_eq!(places.touch(&asked), touches);
            prop_assert_eq!(places.surround(&asked), surrounds);
        }
    }
}
