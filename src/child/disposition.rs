//! Asks whether a signal is ignored. The only `unsafe` of the crate.

#![allow(
    unsafe_code,
    reason = "the crates that wrap sigaction(2) set an action; none asks for the one in force"
)]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use nix::libc;

/// Whether this process ignores `signal`.
///
/// # Errors
///
/// The system's, when `signal` is no signal.
pub(super) fn is_ignored(signal: i32) -> io::Result<bool> {
    let mut current = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: with a null new action `sigaction` changes nothing, and `current` has room for its answer.
    if unsafe { libc::sigaction(signal, ptr::null(), current.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `sigaction` has succeeded, so it has filled `current`.
    let current = unsafe { current.assume_init() };
    Ok(current.sa_sigaction == libc::SIG_IGN)
}
