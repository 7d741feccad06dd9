//! Commands that are programs of the operator: `executor: native` in the config, through the tools
//! and through a plugin that asks for commands by itself (SPEC S4; CASES EX01, EX02, EX04, EX06,
//! OU02, OU03, OU11).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Output, root, tidegate_in, tidegate_with};

/// A workspace, and beside it a config that nobody could have planted.
struct Place {
    folder: TempDir,
    config: TempDir,
}

impl Place {
    /// Native commands as the config writes them, and what else is granted.
    fn new(native: &str, sandbox: &str) -> Self {
        let place = Self {
            folder: TempDir::new().unwrap(),
            config: TempDir::new().unwrap(),
        };
        let probe = root().join("guests/dist/probe.wasm");
        let probe = fs::canonicalize(probe).unwrap();
        let config = format!(
            "sandbox: {{ tools: '*', read: true, execute: '*'{sandbox} }}\n\
             plugins: [{{ name: probe, component: {}, grants: {{ read: true, execute: '*'{sandbox} }} }}]\n\
             interaction: {{ commands: {{ executor: native, native: [{native}] }} }}\n",
            probe.display()
        );
        fs::write(place.config.path().join("tidegate.yaml"), config).unwrap();
        place
    }

    /// `sh` under its own name and as `cat`, whose tool then runs a script of the workspace.
    fn with_shell() -> Self {
        let also = "also: [/bin, /usr/bin, /dev/zero]";
        Self::new(
            &format!(
                "{{ name: sh, path: /bin/sh, {also} }}, {{ name: cat, path: /bin/sh, {also} }}"
            ),
            "",
        )
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn call(&self, tool: &str, arguments: &Value, more: &[&str]) -> Output {
        let config = self.config.path().join("tidegate.yaml");
        let arguments = arguments.to_string();
        let config = config.to_str().unwrap();
        let words = ["call", tool, &arguments, "--json", "--config", config];
        tidegate_in(self.folder.path(), &[&words, more].concat())
    }

    /// What the tool `cat` says of a script that is run in its place.
    fn script(&self, script: &str) -> Value {
        self.write("script", script);
        self.call("cat", &json!({"path": "script"}), &[]).json()
    }

    /// What the probing plugin is told about a command that it asks for.
    fn exec(&self, command: &str, args: &[&str]) -> Value {
        let arguments = json!({"command": command, "args": args});
        self.call("exec", &arguments, &[]).json()
    }
}

#[test]
fn ex01_a_command_is_a_granted_name_and_its_program_is_pinned() {
    let place = Place::new("{ name: echo, path: /bin/echo }", ", env: [PATH]");
    fs::create_dir(place.folder.path().join("sub")).unwrap();
    for planted in ["echo", "sub/echo"] {
        place.write(planted, "#!/bin/sh\nprintf planted\n");
        let path = place.folder.path().join(planted);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let absolute = place.folder.path().join("echo");
    for name in [
        "./echo",
        "sub/echo",
        "scratch/echo",
        "/bin/echo",
        absolute.to_str().unwrap(),
        "ls",
    ] {
        let told = place.exec(name, &["x"]);
        assert_eq!(told["content"], "PERMISSION_DENIED", "{name}: {told}");
        let denied = told["metadata"]["denied"].to_string();
        assert!(denied.contains("execute:"), "{denied}");
    }
    let path = format!(".:{}", place.folder.path().display());
    let config = place.config.path().join("tidegate.yaml");
    let words = [
        "call",
        "exec",
        r#"{"command":"echo","args":["pinned"]}"#,
        "--json",
        "--config",
        config.to_str().unwrap(),
    ];
    let told = tidegate_with(place.folder.path(), &words, "", &[("PATH", &path)]).json();
    assert_eq!(told["structuredContent"]["stdout"], "pinned\n", "{told}");
}

#[test]
fn r5_a_granted_command_that_is_not_there_is_not_asked_to_be_granted() {
    let place = Place::new("{ name: cat, path: /bin/cat }", "");
    let output = place.call("ls", &json!({}), &[]);
    let error = &output.json()["error"];
    assert_eq!(
        (output.exit, &error["code"]),
        (2, &json!("PERMISSION_DENIED"))
    );
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("execute:ls; this host has no such command"),
        "{message}"
    );
    assert!(!message.contains("--allow"), "{message}");
}

/// Whether some process, not yet a zombie, was started with this argument.
fn is_running(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|word| word == argument.as_bytes())
    })
}

#[test]
fn ex02_at_the_deadline_the_whole_group_is_gone() {
    let place = Place::with_shell();
    // No other process sleeps for just so long.
    let nap = format!("300.{}", std::process::id());
    place.write(
        "script",
        &format!("sleep {nap} & (sleep {nap} &) ; sleep {nap}"),
    );
    let limit = ["--limit", "deadline_ms=1000"];
    let output = place.call("cat", &json!({"path": "script"}), &limit);
    let result = output.json();
    assert_eq!(
        (output.exit, &result["status"]),
        (1, &json!("timeout")),
        "{result}"
    );
    assert_eq!(result["error"]["code"], "LIMIT_DEADLINE");
    assert!(
        output.elapsed <= Duration::from_secs(3),
        "{:?}",
        output.elapsed
    );
    let start = Instant::now();
    while is_running(&nap) {
        assert!(start.elapsed() < Duration::from_secs(2), "it sleeps on");
        std::thread::yield_now();
    }
}

#[test]
fn ex04_a_command_sees_no_variable_that_is_not_granted() {
    let secrets = [
        ("MODEL_API_KEY", "sk-test-123"),
        ("LANG", "C"),
        ("PATH", "/usr/bin:/bin"),
    ];
    let place = Place::new("{ name: env, path: /usr/bin/env }", ", env: [LANG]");
    let config = place.config.path().join("tidegate.yaml");
    let config = config.to_str().unwrap();
    let words = [
        "call",
        "exec",
        r#"{"command":"env"}"#,
        "--json",
        "--config",
        config,
    ];
    let output = tidegate_with(place.folder.path(), &words, "", &secrets);
    for said in [&output.stdout, &output.stderr] {
        assert!(!said.contains("sk-test-123") && !said.contains("MODEL_API_KEY"));
    }
    let result = output.json();
    assert_eq!(result["content"], "ok", "{result}");
    assert_eq!(result["structuredContent"]["stdout"], "LANG=C\n");
}

#[test]
fn ex06_errors_are_read_while_the_answer_comes() {
    let place = Place::with_shell();
    for (flood, written) in [("head -c 262144 /dev/zero >&2", 262_144), (":", 0)] {
        let result = place.script(&format!("{flood}; printf answer"));
        assert_eq!(result["content"], "answer", "{result}");
        let structured = &result["structuredContent"];
        let stderr = structured["stderr"].as_str().unwrap();
        assert!(stderr.len() <= 8_192, "{}", stderr.len());
        assert_eq!(structured["truncated"], written > 0);
        let omitted = structured["stderrOmittedBytes"]
            .as_u64()
            .unwrap_or_default();
        // A NUL is shown as four characters.
        let shown = u64::try_from(stderr.len() / 4).unwrap();
        assert_eq!(shown + omitted, written, "{result}");
    }
}

#[test]
fn ou02_a_character_in_two_writes_is_one_character() {
    let place = Place::with_shell();
    let result = place.script("printf 'cleanup \\342'; sleep 0.05; printf '\\200\\224 end'");
    assert_eq!(result["content"], "cleanup — end", "{result}");
    let result = place.script("printf 'a\\377b'; sleep 0.05; printf 'c\\342'");
    assert_eq!(
        result["content"], "a\\xffbc\\xe2",
        "each such byte once: {result}"
    );
}

#[test]
fn ou03_a_failure_is_told_beside_the_text_that_is_cut() {
    let place = Place::with_shell();
    let line = "a line of the log that is one hundred bytes long, with its newline, and says nothing else xxxxxxxxx";
    assert_eq!(line.len(), 99);
    let lines = format!("i=0; while [ $i -lt 1000 ]; do echo '{line}'; i=$((i+1)); done");
    let script = format!("{lines}; echo 'error: build failed'; exit 101");
    place.write("script", &script);
    let output = place.call("cat", &json!({"path": "script"}), &[]);
    let result = output.json();
    assert_eq!(
        (output.exit, &result["status"]),
        (1, &json!("failed")),
        "{}",
        result["error"]
    );
    assert_eq!(result["error"]["code"], "COMMAND_EXIT_NONZERO");
    let structured = &result["structuredContent"];
    assert_eq!(structured["exitCode"], 101);
    assert_eq!(structured["truncated"], true);
    let kept = structured["stdout"].as_str().unwrap().len();
    let written = u64::try_from(100 * 1_000 + "error: build failed\n".len() - kept).unwrap();
    assert_eq!(structured["stdoutOmittedBytes"], written);
}

#[test]
fn ou11_a_gibibyte_of_errors_is_counted_and_not_kept() {
    let place = Place::with_shell();
    let quiet = {
        place.write("script", "printf x");
        place.call("cat", &json!({"path": "script"}), &[]).peak_kib
    };
    place.write("script", "head -c 1073741824 /dev/zero >&2; printf x");
    let output = place.call("cat", &json!({"path": "script"}), &[]);
    let result = output.json();
    let structured = &result["structuredContent"];
    assert_eq!(structured["stdout"], "x", "{}", result["error"]);
    assert_eq!(structured["truncated"], true);
    let shown = structured["stderr"].as_str().unwrap();
    assert!(shown.len() <= 8_192);
    let omitted = (1_u64 << 30) - u64::try_from(shown.len() / 4).unwrap();
    assert_eq!(structured["stderrOmittedBytes"], omitted);
    let grown = output.peak_kib.saturating_sub(quiet);
    assert!(grown < 32 * 1024, "{grown} KiB");
}

#[test]
fn s4_a_native_list_has_to_be_meant_and_its_programs_have_to_be_there() {
    for (commands, words) in [
        (
            "native: [{ name: cat, path: /bin/cat }]",
            &["interaction.commands.native", "executor: native"][..],
        ),
        (
            "executor: native, native: [{ name: cat, path: /bin/no-such-program }]",
            &["interaction.commands.native", "cat"],
        ),
        (
            "executor: native, native: [{ name: cat, path: bin/cat }]",
            &["interaction.commands.native", "cat"],
        ),
        (
            "executor: native, native: [{ name: bin/cat, path: /bin/cat }]",
            &["interaction.commands.native"],
        ),
        (
            "executor: native, native: [{ name: cat, path: /bin/cat, digest: sha-256:00 }]",
            &["interaction.commands.native", "cat", "sha-256:HEX"],
        ),
        (
            &format!(
                "executor: native, native: [{{ name: cat, path: /bin/cat, digest: 'sha-256:{}' }}]",
                "0".repeat(64)
            ),
            &["interaction.commands.native", "cat"],
        ),
    ] {
        let folder = TempDir::new().unwrap();
        let config = format!("interaction: {{ commands: {{ {commands} }} }}\n");
        fs::write(folder.path().join("c.yaml"), config).unwrap();
        let output = tidegate_in(
            folder.path(),
            &[
                "call",
                "cat",
                r#"{"path":"c.yaml"}"#,
                "--config",
                "c.yaml",
                "--allow",
                "plugin=commands",
                "--allow",
                "execute=*",
            ],
        );
        assert_eq!((output.exit, &*output.stdout), (2, ""), "{commands}");
        for word in words {
            assert!(
                output.stderr.contains(word),
                "{commands}: {}",
                output.stderr
            );
        }
    }
}
