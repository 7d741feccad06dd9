//! What `wit-bindgen` makes of the contract in `wit/`.

#![expect(
    clippy::mem_forget,
    clippy::same_length_and_capacity,
    reason = "generated code hands memory over the boundary"
)]

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package tidegate:broken;
        world broken {
            include tidegate:plugin/tool-plugin@0.1.0;
            include tidegate:plugin/sink-plugin@0.1.0;
            include tidegate:plugin/worker-plugin@0.1.0;
        }
    ",
    world: "tidegate:broken/broken",
    generate_all,
});
