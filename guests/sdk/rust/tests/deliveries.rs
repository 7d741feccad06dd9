//! Deliveries as JSON.

use tidegate_plugin::{Artifact, Content, Delivery, Message, Part, Reference, Role};

fn delivery(content: Content, artifacts: Vec<Artifact>) -> Delivery {
    Delivery {
        delivery_id: "d-1".to_owned(),
        message: Message {
            role: Role::Assistant,
            content,
            name: Some("n".to_owned()),
        },
        artifacts,
    }
}

#[test]
fn d2_a_delivery_is_one_line_in_the_names_of_the_wire() {
    let target = Reference {
        uri: "a:b".to_owned(),
        media_type: Some("text/plain".to_owned()),
        digest: None,
    };
    let parts = vec![
        Part::Text("x\r\ny\u{1}\"\\".to_owned()),
        Part::Json("{\n\"a\": 1}".to_owned()),
        Part::Reference(target.clone()),
    ];
    let artifact = Artifact {
        name: "a".to_owned(),
        reference: target,
    };
    assert_eq!(
        delivery(Content::Parts(parts), vec![artifact]).to_json(),
        r#"{"id":"d-1","message":{"role":"assistant","content":[{"type":"text","text":"x\r\ny\u0001\"\\"},{"type":"json","data":{ "a": 1}},{"type":"reference","reference":{"uri":"a:b","mediaType":"text/plain"}}],"name":"n"},"artifacts":[{"name":"a","reference":{"uri":"a:b","mediaType":"text/plain"}}]}"#
    );
}

#[test]
fn ou08_other_ends_of_a_line_stay_in_the_text() {
    let text = "a\u{2028}b\u{85}c".to_owned();
    let line = delivery(Content::Text(text), Vec::new()).to_json();
    assert!(line.contains("a\u{2028}b\u{85}c"));
    assert!(!line.contains("artifacts"));
    assert!(!line.contains('\n'));
}
