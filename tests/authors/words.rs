//! The words of a component's WIT, where it carries them, are those of its tools (SPEC T7).

use serde_json::{Value, json};

use crate::support::{Fixture, guest};

/// `shapes` with a section `package-docs` of these bytes.
fn with_section(section: &[u8]) -> Vec<u8> {
    let name = b"package-docs";
    let mut body = vec![u8::try_from(name.len()).unwrap()];
    body.extend(name);
    body.extend(section);
    let mut component = guest("shapes");
    component.push(0);
    // The length as LEB128.
    let mut left = body.len();
    while left > 0x7f {
        component.push(u8::try_from(left & 0x7f).unwrap() | 0x80);
        left >>= 7;
    }
    component.push(u8::try_from(left).unwrap());
    component.extend(body);
    component
}

fn section(version: u8, document: &Value) -> Vec<u8> {
    let mut section = vec![version];
    section.extend(document.to_string().bytes());
    section
}

/// What `tidegate tools` would say of the component.
async fn tools(component: Vec<u8>) -> Vec<Value> {
    let plugin = Fixture::new(&[]).plugin("shapes", component).await;
    let tools = plugin.definitions().iter();
    tools
        .map(|tool| serde_json::to_value(tool).unwrap())
        .collect()
}

fn named<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap()
}

#[tokio::test]
async fn t7_the_words_of_functions_types_and_fields_are_descriptions() {
    let document = json!({
        "worlds": {"shapes": {"func_exports": {"sum": {"docs": "Adds two numbers."}}}},
        "interfaces": {
            "forms": {
                "funcs": {"greet": "Says hello.\n", "echo-point": {"docs": "Gives a point back."}},
                "types": {"point": {"docs": "A place.", "items": {"x": "To the right.", "y": "Down."}}},
            },
            "others": {"funcs": {"nothing": "Of another interface."}},
        },
    });
    for version in [0, 1] {
        let tools = tools(with_section(&section(version, &document))).await;
        assert_eq!(named(&tools, "sum")["description"], "Adds two numbers.");
        assert_eq!(named(&tools, "forms_greet")["description"], "Says hello.");
        assert_eq!(named(&tools, "forms_nothing").get("description"), None);
        let point = &named(&tools, "forms_echo-point")["inputSchema"]["properties"]["value"];
        assert_eq!(point["description"], "A place.");
        assert_eq!(point["properties"]["x"]["description"], "To the right.");
        assert_eq!(point["properties"]["label"].get("description"), None);
        assert_eq!(point["required"], json!(["x", "y"]));
    }
}

#[tokio::test]
async fn t7_words_that_are_damaged_or_too_long_are_left_out() {
    let plain = tools(guest("shapes")).await;
    let greet = |text: &str| json!({"interfaces": {"forms": {"funcs": {"greet": text}}}});
    let large = json!({"docs": "x".repeat(1024 * 1024)});
    for section in [
        Vec::new(),
        vec![1],
        b"\x01{".to_vec(),
        b"\x01[]".to_vec(),
        b"\x01\xff".to_vec(),
        section(2, &greet("Of another version.")),
        section(1, &greet(&"x".repeat(4_097))),
        section(1, &greet("  ")),
        section(1, &large),
    ] {
        assert_eq!(tools(with_section(&section)).await, plain);
    }
    let longest = "x".repeat(4_096);
    let tools = tools(with_section(&section(1, &greet(&longest)))).await;
    assert_eq!(named(&tools, "forms_greet")["description"], longest);
}
