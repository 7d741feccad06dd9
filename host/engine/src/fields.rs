//! Header fields of a guest, bounded together: wasmtime bounds each map of them alone, and a copy is as
//! large as what it was made of.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::HeaderResult;
use wasmtime_wasi_http::p2::bindings::http::types::{HeaderError, HostFields};
use wasmtime_wasi_http::{FieldMap, WasiHttpCtxView};

use crate::breach::Breach;
use crate::saturating::to_u64;
use crate::store::CallState;

/// What a field takes beside its name and its value, as wasmtime counts.
const FIELD_BYTES: u64 = 72;

/// The version of `wasi:http` that wasmtime links.
pub(crate) const TYPES: &str = "wasi:http/types@0.2.12";

type Fields = Resource<FieldMap>;

/// What wasmtime's answer to a guest is, without what ends the call.
type Answer<T> = Result<T, HeaderError>;

/// Puts the bound before each function that makes a map larger, or another one.
pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[static]fields.from-list",
        |mut store, (pairs,): (Vec<(String, Vec<u8>)>,)| {
            let size = |(name, value): &(String, Vec<u8>)| field(name, value);
            charge(&mut store, pairs.iter().map(size).sum())?;
            answer(|view| view.from_list(pairs), &mut store)
        },
    )?;
    types.func_wrap(
        "[method]fields.set",
        |mut store, (fields, name, values): (Fields, String, Vec<Vec<u8>>)| {
            let size = |value: &Vec<u8>| field(&name, value);
            charge(&mut store, values.iter().map(size).sum())?;
            answer(|view| view.set(fields, name, values), &mut store)
        },
    )?;
    types.func_wrap(
        "[method]fields.append",
        |mut store, (fields, name, value): (Fields, String, Vec<u8>)| {
            charge(&mut store, field(&name, &value))?;
            answer(|view| view.append(fields, name, value), &mut store)
        },
    )?;
    types.func_wrap(
        "[method]fields.clone",
        |mut store: StoreContextMut<'_, CallState>, (fields,): (Fields,)| {
            let map = store.data_mut().table().get(&fields)?;
            let size = map
                .iter()
                .map(|(name, value)| field(name.as_str(), value.as_bytes()))
                .sum();
            charge(&mut store, size)?;
            Ok((HostFields::clone(&mut store.data_mut().http(), fields)?,))
        },
    )
}

fn field(name: &str, value: &[u8]) -> u64 {
    to_u64(name.len() + value.len()).saturating_add(FIELD_BYTES)
}

/// Takes from what a call may make of fields; what it drops is not given back.
fn charge(store: &mut StoreContextMut<'_, CallState>, bytes: u64) -> wasmtime::Result<()> {
    if store.data_mut().take_field_bytes(bytes) {
        return Ok(());
    }
    Err(Breach::HostAllocation.into())
}

fn answer<T>(
    make: impl FnOnce(&mut WasiHttpCtxView<'_>) -> HeaderResult<T>,
    store: &mut StoreContextMut<'_, CallState>,
) -> wasmtime::Result<(Answer<T>,)> {
    Ok((match make(&mut store.data_mut().http()) {
        Ok(value) => Ok(value),
        Err(error) => Err(error.downcast()?),
    },))
}
