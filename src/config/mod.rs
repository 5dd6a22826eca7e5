//! Which API server to talk to, and as whom.
