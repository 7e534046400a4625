//! The two questions about signals that no crate answers safely. The only `unsafe` of the crate; it installs nothing.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::{io, ptr};

use libc::c_int;

/// Whether this process ignores `signal`.
///
/// # Errors
///
/// The system's, when `signal` is no signal.
pub(super) fn is_ignored(signal: c_int) -> io::Result<bool> {
    let mut current = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: with a null new action `sigaction` only reads, and `current` is a place of the right type for the answer.
    // The crates that wrap it safely set an action; none asks for the one in force.
    if unsafe { libc::sigaction(signal, ptr::null(), current.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `sigaction` succeeded, so it has filled `current`.
    let current = unsafe { current.assume_init() };
    Ok(current.sa_sigaction == libc::SIG_IGN)
}

/// Unblocks every signal in the calling thread, and so in the threads and the commands it will start: the standard
/// library hands the mask on as it is.
///
/// # Errors
///
/// The system's.
pub(super) fn unblock_all() -> io::Result<()> {
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` only writes the set that it is given, which makes it a valid one.
    if unsafe { libc::sigemptyset(none.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `none` was filled above, and a null old set is allowed. Only this thread's mask changes; the signals it
    // lets through meet handlers that `signal-hook` installed, or the disposition this process was started with.
    let errno = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()) };
    if errno == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(errno))
    }
}
