//! What `wit-bindgen` makes of the contract in `wit/`.

#![expect(
    clippy::mem_forget,
    clippy::same_length_and_capacity,
    reason = "generated code hands memory over the boundary"
)]

wit_bindgen::generate!({ path: "../../../wit", world: "worker-plugin" });
