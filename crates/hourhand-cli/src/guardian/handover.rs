//! Handing the three standard streams to another process of ours, over the socket that it has as its own standard input.
//!
//! So the streams reach the command without ever being open under a number that some other child could inherit too.

use std::io::{Error, IoSlice, IoSliceMut, Result};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// Standard input, output and error.
pub(crate) type Streams<Fd> = [Fd; 3];

/// Sends the streams.
///
/// # Errors
///
/// The other end has gone.
pub(crate) fn give(socket: impl AsFd, streams: Streams<BorrowedFd<'_>>) -> Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    message.push(SendAncillaryMessage::ScmRights(&streams));
    // A message that only has descriptors would be none.
    sendmsg(socket, &[IoSlice::new(b"s")], &mut message, SendFlags::empty())?;
    Ok(())
}

/// Receives them, close-on-exec.
///
/// # Errors
///
/// What came was something else.
pub(crate) fn take(socket: impl AsFd) -> Result<Streams<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8];
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    // Elsewhere nothing else is started between here and the next line but one.
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut message, flags)?;
    let given = message.drain().flat_map(|part| match part {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<OwnedFd>>(),
        _ => Vec::new(),
    });
    let given: Vec<OwnedFd> = given.collect();
    for descriptor in &given {
        rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC)?;
    }
    given.try_into().map_err(|_| Error::other("the standard streams were not handed over"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_is_given_is_what_is_taken() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reading, writing) = std::io::pipe().unwrap();
        let null = File::open("/dev/null").unwrap();
        give(&here, [null.as_fd(), writing.as_fd(), null.as_fd()]).unwrap();
        drop(writing);
        let [_, out, _] = take(&there).unwrap();
        File::from(out).write_all(b"through").unwrap();
        let mut told = String::new();
        reading.read_to_string(&mut told).unwrap();
        assert_eq!(told, "through");
    }

    #[test]
    fn an_end_that_has_gone_gives_nothing() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(here);
        assert!(take(&there).is_err());
    }
}
