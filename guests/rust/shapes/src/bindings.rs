//! What `wit-bindgen` makes of this component's own world.

#![expect(
    clippy::mem_forget,
    clippy::same_length_and_capacity,
    reason = "generated code hands memory over the boundary"
)]

wit_bindgen::generate!({ path: "wit", world: "shapes" });
