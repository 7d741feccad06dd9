//! Files of a run: where they stand, what is in them, and how one is written (SPEC I8).
//!
//! The store is the truth and these are copies for whoever reads files: renamed into place, so that
//! no reader sees half of one, and synced once their run ends, since those of an open one are made
//! again at start. Deliberately absent: paths. All is below an open folder, and no link is followed.

use std::io::{self, Write as _};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};
use tidegate_sandbox::ambient;

use crate::error::WorkerError;
use crate::part::check_file_name;
use crate::step::StepKey;
use crate::verdict::Ending;

/// What happens where a file can't be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckPolicy {
    /// Nothing is said.
    Silent,
    /// A warning for the operator.
    #[default]
    Warn,
    /// The step fails.
    Strict,
}

/// Where the files of a run stand below its root: a relative folder with `{task_id}` in it.
///
/// `{run_id}`, `{step}` and `{attempt}` may be used too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement(String);

/// What a placement's words stand for.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The task: one folder for all its steps.
    pub task: &'a str,
    /// The run of the task.
    pub run: &'a str,
    /// The step.
    pub step: &'a StepKey,
    /// The attempt of the step, from 1.
    pub attempt: u32,
}

impl Default for Placement {
    fn default() -> Self {
        Self("workspace/tasks/{task_id}/ctx".to_owned())
    }
}

impl Placement {
    /// Checks a template.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` when it is absolute, lacks `{task_id}`, has another word in braces, or a
    /// segment of it is no plain folder name.
    pub fn parse(template: &str) -> Result<Self, WorkerError> {
        let invalid = |reason: &str| WorkerError::InvalidRequest {
            reason: format!("projection placement: {reason}"),
        };
        if !template.contains("{task_id}") {
            return Err(invalid("`{task_id}` must stand in it"));
        }
        let placement = Self(template.to_owned());
        let step = StepKey::new("step", &[])?;
        let sample = Place {
            task: "task",
            run: "run",
            step: &step,
            attempt: 1,
        };
        let segments = placement.segments(&sample);
        if segments.iter().any(|segment| segment.contains(['{', '}'])) {
            let words =
                "only `{task_id}`, `{run_id}`, `{step}` and `{attempt}` stand for something";
            return Err(invalid(words));
        }
        if segments.iter().any(|name| check_file_name(name).is_err()) {
            return Err(invalid("it must be a relative path of plain folder names"));
        }
        Ok(placement)
    }

    /// The template.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder's name below the root, segment by segment.
    #[must_use]
    pub fn segments(&self, place: &Place<'_>) -> Vec<String> {
        let fill = |segment: &str| {
            segment
                .replace("{task_id}", place.task)
                .replace("{run_id}", place.run)
                .replace("{step}", &place.step.to_string())
                .replace("{attempt}", &place.attempt.to_string())
        };
        self.0.split('/').map(fill).collect()
    }
}

/// Opens a folder below `root`, making what is missing. A link on the way is an error.
///
/// # Errors
///
/// What the system said; `InvalidInput` where a segment is no plain name.
pub fn open_folder(root: &Dir, segments: &[String]) -> io::Result<Dir> {
    let mut folder = root.try_clone()?;
    for segment in segments {
        check_file_name(segment)
            .map_err(|unfit| io::Error::new(io::ErrorKind::InvalidInput, unfit.to_string()))?;
        match folder.create_dir(segment) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        folder = folder.open_dir_nofollow(segment)?;
    }
    Ok(folder)
}

/// Writes one file whole or not at all. A link of that name is replaced, not followed.
///
/// # Errors
///
/// What the system said; `InvalidInput` where the name is no plain one.
pub fn write(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    check_file_name(name)
        .map_err(|unfit| io::Error::new(io::ErrorKind::InvalidInput, unfit.to_string()))?;
    let new = format!(".{}.tmp", ambient::random_id());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = folder.open_with(&new, &options)?;
    file.write_all(bytes)
        .and_then(|()| folder.rename(&new, folder, name))
        .inspect_err(|_kept_for_the_caller| {
            // A leftover is harmless: nothing reads it.
            drop(folder.remove_file(&new));
        })
}

/// Brings files of a folder below `root` to the disk, and all the folders down to it.
///
/// # Errors
///
/// What the system said; also where one is missing or a link.
pub fn sync(root: &Dir, segments: &[String], names: &[&str]) -> io::Result<()> {
    let mut folders = Vec::new();
    let mut folder = root.try_clone()?;
    for segment in segments {
        let below = folder.open_dir_nofollow(segment)?;
        folders.push(folder);
        folder = below;
    }
    let mut options = OpenOptions::new();
    // Whatever has taken its place since: nothing is waited for.
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    for name in names {
        folder.open_with(name, &options)?.sync_all()?;
    }
    folders.push(folder);
    for folder in folders.iter().rev() {
        folder.open(".")?.sync_all()?;
    }
    Ok(())
}

/// What stands above the body in a step's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    /// The task.
    pub task: String,
    /// The step, with its lane.
    pub step: StepKey,
    /// The attempt, from 1.
    pub attempt: u32,
    /// How it ended.
    pub ending: Ending,
}

impl FrontMatter {
    /// The step's file: this, then the body, byte for byte.
    #[must_use]
    pub fn document(&self, body: &str) -> String {
        let Self {
            task,
            step,
            attempt,
            ending,
        } = self;
        // A JSON string is a YAML one.
        let task = serde_json::Value::from(task.as_str());
        let ok = *ending != Ending::Blocked;
        let verdict = ending.word();
        format!(
            "---\ntask_id: {task}\nstep: \"{step}\"\nattempt: {attempt}\nok: {ok}\n\
             verdict: {verdict}\n---\n\n{body}"
        )
    }

    /// Reads a step's file back; `None` when it is not one.
    #[must_use]
    pub fn read(document: &str) -> Option<(Self, &str)> {
        let rest = document.strip_prefix("---\n")?;
        let (front, body) = rest.split_once("\n---\n\n")?;
        let mut lines = front.lines();
        let mut value = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(": ");
        let task = serde_json::from_str(value("task_id")?).ok()?;
        let step: String = serde_json::from_str(value("step")?).ok()?;
        let attempt = value("attempt")?.parse().ok()?;
        value("ok")?;
        let ending = Ending::from_word(value("verdict")?)?;
        let front = Self {
            task,
            step: StepKey::parse(&step).ok()?,
            attempt,
            ending,
        };
        Some((front, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> StepKey {
        StepKey::parse(text).unwrap()
    }

    #[test]
    fn i8_a_placement_is_relative_and_names_the_task() {
        for template in [
            "",
            "ctx",
            "/abs/{task_id}",
            "../{task_id}",
            "a/../{task_id}",
            "a//{task_id}",
            "{task_id}/",
            "./{task_id}",
            "a\\{task_id}",
            "{task_id}/{other}",
            "{task_id}/{step",
            "nul/{task_id}",
        ] {
            let answer = Placement::parse(template);
            assert_eq!(answer.unwrap_err().status(), 400, "{template:?}");
        }
        let placement = Placement::parse("out/{task_id}/{run_id}/{step}-{attempt}").unwrap();
        let place = Place {
            task: "T-1",
            run: "R-2",
            step: &step("plan[3]"),
            attempt: 4,
        };
        assert_eq!(
            placement.segments(&place).join("/"),
            "out/T-1/R-2/plan[3]-4"
        );
        let default = Placement::default();
        assert_eq!(Placement::parse(default.as_str()).unwrap(), default);
        assert_eq!(
            default.segments(&place).join("/"),
            "workspace/tasks/T-1/ctx"
        );
    }

    #[test]
    fn i8_a_steps_file_is_read_back_byte_for_byte() {
        for body in [
            "",
            "text",
            "\n\n---\n\nx\n",
            "---\nstep: \"x\"\n---\n\n",
            "\u{feff}\0\r\n",
        ] {
            for (task, ending) in [("T-1", Ending::Pass), ("T \"2\"\n---\n\n", Ending::Blocked)] {
                let front = FrontMatter {
                    task: task.to_owned(),
                    step: step("review[0]"),
                    attempt: 2,
                    ending,
                };
                let document = front.document(body);
                assert_eq!(FrontMatter::read(&document), Some((front, body)));
            }
        }
        for document in ["", "text", "---\n\n---\n\n", "---\ntask_id: x\n---\n\nbody"] {
            assert_eq!(FrontMatter::read(document), None, "{document:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn io04_a_link_is_replaced_or_refused_and_never_followed() {
        let outside = tempfile::tempdir().unwrap();
        let inside = tempfile::tempdir().unwrap();
        let root = ambient::open_folder(inside.path()).unwrap();
        root.create_dir("ctx").unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("ctx/out")).unwrap();
        std::os::unix::fs::symlink("../victim", inside.path().join("ctx/f")).unwrap();
        root.write("victim", "kept").unwrap();

        let folder = open_folder(&root, &["ctx".to_owned()]).unwrap();
        write(&folder, "out", b"part").unwrap();
        write(&folder, "f", b"part").unwrap();
        for name in ["out", "f"] {
            assert!(folder.symlink_metadata(name).unwrap().is_file());
            assert_eq!(folder.read_to_string(name).unwrap(), "part");
        }
        assert_eq!(root.read_to_string("victim").unwrap(), "kept");
        let left = ambient::open_folder(outside.path()).unwrap();
        assert_eq!(left.entries().unwrap().count(), 0);

        std::os::unix::fs::symlink(outside.path(), inside.path().join("away")).unwrap();
        std::os::unix::fs::symlink("ctx", inside.path().join("near")).unwrap();
        for link in ["away", "near"] {
            assert!(open_folder(&root, &[link.to_owned()]).is_err(), "{link}");
            assert!(open_folder(&root, &[link.to_owned(), "x".to_owned()]).is_err());
        }
        assert_eq!(left.entries().unwrap().count(), 0);
    }

    #[test]
    fn i8_a_write_leaves_the_whole_file_or_what_was_there() {
        let inside = tempfile::tempdir().unwrap();
        let root = ambient::open_folder(inside.path()).unwrap();
        let folder = open_folder(&root, &["a".to_owned(), "b".to_owned()]).unwrap();
        write(&folder, "f", b"one").unwrap();
        write(&folder, "f", b"two\xff").unwrap();
        assert_eq!(folder.read("f").unwrap(), b"two\xff");
        folder.create_dir("d").unwrap();
        assert!(write(&folder, "d", b"x").is_err());
        assert!(write(&folder, "../f", b"x").is_err());
        assert!(open_folder(&root, &["..".to_owned()]).is_err());
        let names: Vec<_> = folder
            .entries()
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }
}
