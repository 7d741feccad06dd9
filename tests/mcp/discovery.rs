//! Discovery: pages, budgets, permission before the first request (SPEC M1, M2).

use serde_json::{Value, json};
use tidegate::{
    CancellationToken, InvokeOptions, McpError, McpPage, McpRegisterError, McpRegistry,
    McpSettings, McpTool, Node,
};

use super::scripted::{Scripted, ask, one, over, page, tool};

fn discover() -> Value {
    json!({"operation": "discover"})
}

#[tokio::test]
async fn m2_discovery_walks_the_pages_of_each_server_in_order() {
    let servers = McpRegistry::default();
    let paged = Scripted::listing(|cursor| {
        Ok(match cursor {
            None => page(&["b", "a"], Some("two")),
            Some("two") => McpPage {
                tools: vec![McpTool {
                    description: Some("Finds".to_owned()),
                    output_schema: Some(json!({"type": "object"})),
                    ..tool("find.all/x")
                }],
                next_cursor: None,
            },
            Some(other) => panic!("{other}"),
        })
    });
    drop(servers.register("files", paged.clone()).unwrap());
    let other = Scripted::listing(|_| Ok(page(&["a"], None)));
    drop(servers.register("web", other).unwrap());
    let runtime = over(&servers, &["mcp=files", "mcp=web"]);
    let found = ask(&runtime, discover()).await.unwrap();
    let object = json!({"type": "object"});
    let expected = json!({"operation": "discover", "capabilities": [
        {"server": "files", "name": "b", "inputSchema": object},
        {"server": "files", "name": "a", "inputSchema": object},
        {"server": "files", "name": "find.all/x", "description": "Finds", "inputSchema": object,
         "outputSchema": object},
        {"server": "web", "name": "a", "inputSchema": object},
    ]});
    assert_eq!(found, expected);
    assert_eq!(paged.asked(), 2);
    let one = json!({"operation": "discover", "server": "web"});
    let found = ask(&runtime, one).await.unwrap();
    assert_eq!(found["capabilities"].as_array().unwrap().len(), 1);
    assert_eq!(paged.asked(), 2, "only the named server is asked");
}

#[tokio::test]
async fn m2_no_servers_are_no_capabilities() {
    let runtime = over(&McpRegistry::default(), &[]);
    assert!(runtime.has(Node::ActMcp));
    let found = ask(&runtime, discover()).await.unwrap();
    assert_eq!(found, json!({"operation": "discover", "capabilities": []}));
}

#[tokio::test]
async fn gap18_every_permission_is_checked_before_the_first_server_is_asked() {
    let servers = McpRegistry::default();
    let first = Scripted::listing(|_| Ok(page(&["a"], None)));
    drop(servers.register("files", first.clone()).unwrap());
    drop(servers.register("web", first.clone()).unwrap());
    let runtime = over(&servers, &["mcp=files"]);
    let denied = ask(&runtime, discover()).await.unwrap_err();
    assert_eq!(denied.code(), "PERMISSION_DENIED");
    assert!(denied.to_string().contains("mcp:web"), "{denied}");
    assert!(denied.to_string().contains("--allow mcp=web"), "{denied}");
    assert_eq!(first.asked(), 0);
}

#[tokio::test]
async fn m2_permission_comes_before_registration() {
    let servers = McpRegistry::default();
    drop(
        servers
            .register("files", Scripted::listing(|_| Ok(McpPage::default())))
            .unwrap(),
    );
    let runtime = over(&servers, &["mcp=absent"]);
    let of = |server: &str| json!({"operation": "discover", "server": server});
    for unpermitted in ["files", "nowhere"] {
        let denied = ask(&runtime, of(unpermitted)).await.unwrap_err();
        assert_eq!(denied.code(), "PERMISSION_DENIED", "{unpermitted}");
    }
    let unknown = ask(&runtime, of("absent")).await.unwrap_err();
    assert_eq!(unknown.code(), "UNKNOWN_SERVER");
}

async fn fails(client: Scripted, said: &str) -> usize {
    let runtime = one(client.clone());
    let error = ask(&runtime, discover()).await.unwrap_err();
    assert_eq!(error.code(), "INVALID_RESULT", "{error}");
    assert!(error.to_string().contains(said), "{error}");
    client.asked()
}

#[tokio::test]
async fn mc01_a_cursor_that_comes_again_fails_the_discovery() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let stuck = Scripted::listing(move |cursor| {
        let own = if cursor.is_none() { &names[..] } else { &[] };
        Ok(page(own, Some("8")))
    });
    assert!(fails(stuck, "repeated a cursor").await <= 3);
    let again = Scripted::listing(move |_| Ok(page(&names, Some("8"))));
    assert!(fails(again, "two tools of the name `a`").await <= 3);
}

#[tokio::test]
async fn mc02_a_fresh_cursor_each_time_ends_at_the_budget_of_pages() {
    let count = |cursor: Option<&str>| cursor.map_or(0_u32, |cursor| cursor.parse().unwrap());
    let endless = Scripted::listing(move |cursor| {
        let at = count(cursor);
        Ok(page(
            &[&format!("t{at}")],
            Some(&format!("{next}", next = at + 1)),
        ))
    });
    assert_eq!(fails(endless, "max_discovery_pages = 100").await, 100);
}

#[tokio::test]
async fn m2_budgets_hold_over_all_servers_and_to_the_last_one() {
    let budget = |pages, capabilities| {
        McpRegistry::new(McpSettings {
            max_discovery_pages: pages,
            max_capabilities: capabilities,
            ..McpSettings::default()
        })
        .unwrap()
    };
    // Two servers of one page and two tools each.
    for (pages, capabilities, fits) in [
        (2, 4, true),
        (2, 5, true),
        (3, 4, true),
        (1, 4, false),
        (2, 3, false),
    ] {
        let servers = budget(pages, capabilities);
        for name in ["x", "y"] {
            let client = Scripted::listing(|_| Ok(page(&["a", "b"], None)));
            drop(servers.register(name, client).unwrap());
        }
        let found = ask(&over(&servers, &["mcp=*"]), discover()).await;
        assert_eq!(found.is_ok(), fits, "{pages} {capabilities}: {found:?}");
    }
}

#[test]
fn m2_budgets_are_positive_and_bounded() {
    let with = |pages, capabilities| {
        McpRegistry::new(McpSettings {
            max_discovery_pages: pages,
            max_capabilities: capabilities,
            ..McpSettings::default()
        })
        .map(drop)
    };
    for (pages, capabilities) in [(1, 1), (9_999, 99_999), (10_000, 100_000)] {
        assert_eq!(with(pages, capabilities), Ok(()));
    }
    for (pages, capabilities, name, maximum) in [
        (0, 1, "max_discovery_pages", 10_000),
        (10_001, 1, "max_discovery_pages", 10_000),
        (1, 0, "max_capabilities", 100_000),
        (1, 100_001, "max_capabilities", 100_000),
    ] {
        let refused = McpRegisterError::Budget { name, maximum };
        assert_eq!(with(pages, capabilities), Err(refused));
    }
}

#[tokio::test]
async fn m2_what_can_not_be_described_fails_the_discovery() {
    let deep = (0..200).fold(json!({}), |inner, _| json!({"a": inner}));
    let wide = json!({"description": "x".repeat(70_000)});
    let odd = |input: Value, output: Option<Value>| {
        let tool = McpTool {
            input_schema: input,
            output_schema: output,
            ..tool("odd")
        };
        Scripted::listing(move |_| {
            Ok(McpPage {
                tools: vec![tool.clone()],
                next_cursor: None,
            })
        })
    };
    let object = || json!({"type": "object"});
    fails(odd(Value::Null, None), "inputSchema that is no object").await;
    fails(odd(json!([]), None), "inputSchema that is no object").await;
    fails(
        odd(object(), Some(json!(1))),
        "outputSchema that is no object",
    )
    .await;
    fails(odd(deep, None), "passes a bound").await;
    fails(odd(wide, None), "passes a bound").await;
    for blank in ["", " "] {
        let unnamed = Scripted::listing(move |_| Ok(page(&[blank], None)));
        fails(unnamed, "whose name is not").await;
        let nowhere = Scripted::listing(move |_| Ok(page(&["a"], Some(blank))));
        fails(nowhere, "blank cursor").await;
    }
}

#[tokio::test]
async fn m2_a_server_that_can_not_be_listed_fails_the_discovery() {
    let error = |make: fn() -> McpError| Scripted::listing(move |_| Err(make()));
    let unavailable = || McpError::Unavailable {
        reason: "/private/path".to_owned(),
    };
    fails(error(unavailable), "could not be reached").await;
    let broken = || McpError::Broken {
        reason: String::new(),
    };
    fails(error(broken), "no valid page").await;
    let large = || McpError::TooLarge { limit_bytes: 7 };
    fails(error(large), "more than 7 bytes").await;
}

#[tokio::test]
async fn m2_cancellation_is_checked_around_every_page() {
    let cancel = CancellationToken::new();
    let trigger = cancel.clone();
    let client = Scripted::listing(move |_| {
        trigger.cancel();
        Ok(page(&["a"], Some("more")))
    });
    let runtime = one(client.clone());
    let options = InvokeOptions {
        cancel,
        ..InvokeOptions::default()
    };
    let ended = runtime.invoke(Node::ActMcp, discover(), options).await;
    assert_eq!(ended.unwrap_err().code(), "CANCELLED");
    assert_eq!(client.asked(), 1);
}

#[test]
fn m1_a_name_is_unique_and_fit_and_unregistering_works_once() {
    let servers = McpRegistry::default();
    let client = || Scripted::listing(|_| Ok(McpPage::default()));
    let mut first = servers.register("files", client()).unwrap();
    let duplicate = servers.register("files", client()).map(drop);
    let taken = McpRegisterError::Duplicate("files".to_owned());
    assert_eq!(duplicate, Err(taken));
    for name in ["", " ", "a b", "a\n", &"x".repeat(65)] {
        let refused = servers.register(name, client()).map(drop);
        assert_eq!(refused, Err(McpRegisterError::Name), "{name:?}");
    }
    drop(servers.register(&"x".repeat(64), client()).unwrap());
    assert!(first.unregister());
    assert!(!first.unregister());
    drop(servers.register("files", client()).unwrap());
    assert!(!first.unregister(), "a later one of the same name stays");
    assert_eq!(servers.names().len(), 2);
}
