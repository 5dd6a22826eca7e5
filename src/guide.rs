//! Guides: what to know before and after the first five lines.
//!
//! Only in the documentation. The texts are in `docs/`, so that they can be read without it, and their
//! examples are tested.
// Their links are references. What `guide/links.md` says about one comes first, so it counts here; on GitHub, what
// the text says at its end. `tests/guides.rs` compares.

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/client-go.md")]
pub mod client_go {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/kube-rs.md")]
pub mod kube_rs {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/factories.md")]
pub mod factories {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/threads.md")]
pub mod threads {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/memory.md")]
pub mod memory {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/errors.md")]
pub mod errors {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/resync.md")]
pub mod resync {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/immutability.md")]
pub mod immutability {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/metrics.md")]
pub mod metrics {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/testing.md")]
pub mod testing_controllers {}

#[doc = include_str!("guide/links.md")]
#[doc = include_str!("../docs/c.md")]
pub mod c {}
