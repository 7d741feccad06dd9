//! What the host tells the launcher: one byte on a socket, with the handles beside it. The first
//! handle is a file in memory that holds everything else, so that sending never waits.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::MemfdFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType, recvmsg, sendmsg, shutdown,
    socketpair,
};

use crate::command::{Layer, Limits};

/// Most handles that the kernel passes in one message.
const HANDLES: usize = 253;

/// Everything that the launcher is told in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Orders {
    /// The host's process id: a launcher with another parent has been left alone.
    pub(super) host: i32,
    pub(super) limits: Limits,
    pub(super) layers: Vec<Layer>,
    /// How many handles are of files and folders that are read.
    pub(super) readable: usize,
    /// How many are of those that are read and executed.
    pub(super) programs: usize,
    /// The name first.
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
}

/// The handles that came with the orders.
#[derive(Debug)]
pub(super) struct Handles {
    pub(super) null: OwnedFd,
    pub(super) workspace: OwnedFd,
    pub(super) program: OwnedFd,
    pub(super) readable: Vec<OwnedFd>,
    pub(super) programs: Vec<OwnedFd>,
}

impl Orders {
    /// Whether arguments and variables are such as the system can pass to a program.
    pub(super) fn can_be_passed(&self) -> bool {
        let names = self.environment.iter().map(|(name, _)| name);
        let values = self.environment.iter().map(|(_, value)| value);
        let mut words = names.clone().chain(values).chain(&self.arguments);
        words.all(|word| !word.contains('\0')) && names.clone().all(|name| is_variable(name))
    }

    /// Puts the orders into a new socket; gives the host's end and the launcher's.
    pub(super) fn send(&self, handles: &[BorrowedFd<'_>]) -> io::Result<(OwnedFd, OwnedFd)> {
        let mut memory = File::from(rustix::fs::memfd_create("orders", MemfdFlags::CLOEXEC)?);
        memory.write_all(&self.encode())?;
        memory.rewind()?;
        let (host, launcher) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let mut all = vec![memory.as_fd()];
        all.extend(handles);
        let message = SendAncillaryMessage::ScmRights(&all);
        let mut space = vec![MaybeUninit::uninit(); message.size()];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !beside.push(message) {
            return Err(io::Error::other("too many handles"));
        }
        sendmsg(
            &host,
            &[IoSlice::new(b"!")],
            &mut beside,
            SendFlags::NOSIGNAL,
        )?;
        // Nothing follows, so that even a launcher that is none comes to an end of its input.
        shutdown(&host, Shutdown::Write)?;
        Ok((host, launcher))
    }

    /// Takes the orders from the launcher's end.
    pub(super) fn receive(socket: BorrowedFd<'_>) -> io::Result<(Self, Handles)> {
        let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDLES))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut into = [IoSliceMut::new(&mut byte)];
        recvmsg(socket, &mut into, &mut beside, RecvFlags::CMSG_CLOEXEC)?;
        let mut handles = beside.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(handles) => handles.collect(),
            _ => Vec::new(),
        });
        let parsed = (|| {
            let mut text = String::new();
            File::from(handles.next()?).read_to_string(&mut text).ok()?;
            let orders = Self::decode(&text)?;
            let handles = Handles {
                null: handles.next()?,
                workspace: handles.next()?,
                program: handles.next()?,
                readable: handles.by_ref().take(orders.readable).collect(),
                programs: handles.by_ref().take(orders.programs).collect(),
            };
            Some((orders, handles))
        })();
        parsed.ok_or_else(|| io::Error::other("the orders are not whole"))
    }

    /// Words that end with a NUL, in the order in which `decode` reads them.
    fn encode(&self) -> Vec<u8> {
        let mut words = vec![
            self.host.to_string(),
            self.limits.cpu_seconds.to_string(),
            self.limits.address_space_bytes.to_string(),
            self.limits.open_files.to_string(),
            self.limits.processes.to_string(),
            self.layers.len().to_string(),
            self.readable.to_string(),
            self.programs.to_string(),
            self.arguments.len().to_string(),
        ];
        words.extend(self.layers.iter().map(ToString::to_string));
        words.extend_from_slice(&self.arguments);
        for (name, value) in &self.environment {
            words.extend([name.clone(), value.clone()]);
        }
        words
            .iter()
            .flat_map(|word| word.bytes().chain([0]))
            .collect()
    }

    fn decode(text: &str) -> Option<Self> {
        let mut words = text.split_terminator('\0');
        let host = words.next()?.parse().ok()?;
        let mut number = || words.next()?.parse().ok();
        let limits = Limits {
            cpu_seconds: number()?,
            address_space_bytes: number()?,
            open_files: number()?,
            processes: number()?,
        };
        let mut size = || words.next()?.parse().ok();
        let (layers, readable, programs, arguments): (usize, _, _, usize) =
            (size()?, size()?, size()?, size()?);
        let layer = |word: &str| Layer::ALL.into_iter().find(|layer| layer.as_str() == word);
        let orders = Self {
            host,
            limits,
            layers: words
                .by_ref()
                .take(layers)
                .map(layer)
                .collect::<Option<_>>()?,
            readable,
            programs,
            arguments: words.by_ref().take(arguments).map(str::to_owned).collect(),
            environment: std::iter::from_fn(|| {
                Some((words.next()?.to_owned(), words.next()?.to_owned()))
            })
            .collect(),
        };
        (orders.arguments.len() == arguments).then_some(orders)
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> Orders {
        Orders {
            host: 7,
            limits: Limits::default(),
            layers: Layer::ALL.to_vec(),
            readable: 2,
            programs: 0,
            arguments: ["sh", "", "a b\n", "—"].map(str::to_owned).to_vec(),
            environment: vec![
                ("A".to_owned(), String::new()),
                ("B".to_owned(), "=".to_owned()),
            ],
        }
    }

    #[test]
    fn orders_arrive_as_they_were_given() {
        let given = orders();
        let text = String::from_utf8(given.encode()).unwrap();
        assert_eq!(Orders::decode(&text), Some(given));
    }

    #[test]
    fn orders_that_were_cut_are_refused() {
        let text = String::from_utf8(orders().encode()).unwrap();
        let end = text.find("sh\0").unwrap();
        for cut in 0..end {
            assert_eq!(Orders::decode(text.get(..cut).unwrap()), None, "{cut}");
        }
    }

    #[test]
    fn what_no_program_can_be_given_is_known() {
        assert!(orders().can_be_passed());
        let check = |name: &str, value: &str| {
            let environment = vec![(name.to_owned(), value.to_owned())];
            Orders {
                environment,
                ..orders()
            }
            .can_be_passed()
        };
        assert!(check("A", "b=c"));
        assert!(!check("", "b"));
        assert!(!check("A=B", "c"));
        assert!(!check("A\0", "c"));
        assert!(!check("A", "c\0"));
        let arguments = vec!["a\0b".to_owned()];
        assert!(
            !Orders {
                arguments,
                ..orders()
            }
            .can_be_passed()
        );
    }
}
