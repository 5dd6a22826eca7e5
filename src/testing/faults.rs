//! Scripted faults.
use super::wire::Wire;
use crate::StopToken;
use std::io;
#[derive(Debug, Default)]
pub(crate) struct Faults;
#[derive(Debug, Default)]
pub(crate) struct WatchScript;
impl WatchScript {
    pub(crate) fn event(
        &mut self,
        wire: &mut Wire,
        frame: &str,
        _stop: &StopToken,
    ) -> io::Result<()> {
        wire.body(frame.as_bytes())
    }
    pub(crate) fn withholds_bookmark(&self, _initial: bool) -> bool {
        false
    }
}
