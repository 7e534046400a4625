//! Starts one command at a time, looks after it until it has ended, and says how. It knows nothing of receipts, and
//! writes nothing but what a captured command wrote.

mod look_up;

pub use self::look_up::{LookUpError, look_up};
