//! The users of this host who connect over loopback, as the kernel names them.
//!
//! Each end of a loopback connection is a socket of this host, and the kernel tells the user of a socket
//! (`sock_diag(7)`). The answer is only used while that socket is open: closed ones have the user 0.

use std::net::{IpAddr, SocketAddr};

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED};
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponseHeader, SocketId, StateFlags,
};
use rustix::io;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// A cookie that matches any socket with the given addresses.
const ANY: [u8; 8] = [0xff; 8];
/// The number by which the kernel names users that a user namespace does not contain, unless `/proc` says otherwise.
const OVERFLOW: u32 = 65534;

/// The user whose socket is the end `peer` of the connection from `peer` to `own`. `None` if the kernel does not tell,
/// or if that end is no longer open.
pub(crate) fn find_user_of(peer: SocketAddr, own: SocketAddr) -> Option<u32> {
    let wanted = SocketId {
        source_port: peer.port(),
        destination_port: own.port(),
        source_address: peer.ip().to_canonical(),
        destination_address: own.ip().to_canonical(),
        interface_id: 0,
        cookie: ANY,
    };
    let found = query_socket(&wanted).ok()??;
    confirm_user(&wanted, &found).filter(|uid| *uid != OVERFLOW || sees_all_users())
}

/// The user of a socket that is the one asked for, and open.
fn confirm_user(wanted: &SocketId, found: &InetResponseHeader) -> Option<u32> {
    let found_id = &found.socket_id;
    // The kernel also finds sockets that listen at this address and port.
    let addresses = |id: &SocketId| {
        let (from, to) = (id.source_address, id.destination_address);
        [from, to].map(|address| address.to_canonical())
    };
    let ports = |id: &SocketId| [id.source_port, id.destination_port];
    let is_it = addresses(found_id) == addresses(wanted) && ports(found_id) == ports(wanted);
    let is_open = found.state == TCP_ESTABLISHED && found.inode != 0;
    (is_it && is_open).then_some(found.uid)
}

/// Asks the kernel for a socket; `None` if its answer cannot be understood, or says that there is none. This does not
/// wait: the kernel answers while the request is sent.
fn query_socket(id: &SocketId) -> io::Result<Option<InetResponseHeader>> {
    let request = encode_request(id);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let netlink = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        flags,
        Some(SOCK_DIAG),
    )?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&netlink, &request, SendFlags::empty(), &kernel)?;
    let mut answer = [0; 4096];
    let (length, _) = recv(&netlink, &mut answer, RecvFlags::empty())?;
    let answer = answer.get(..length).unwrap_or_default();
    let message = NetlinkMessage::<SockDiagMessage>::deserialize(answer);
    Ok(match message.map(|message| message.payload) {
        Ok(NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(found))) => {
            Some(found.header)
        }
        _ => None,
    })
}

fn encode_request(id: &SocketId) -> Vec<u8> {
    let family = match id.source_address {
        IpAddr::V4(_) => AF_INET,
        IpAddr::V6(_) => AF_INET6,
    };
    let request = SockDiagMessage::InetRequest(InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::all(),
        socket_id: id.clone(),
    });
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let mut message = NetlinkMessage::new(header, request.into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Whether this process is in a user namespace that contains all users. Otherwise the kernel names all users outside
/// the namespace by one number.
fn sees_all_users() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let numbers: Vec<u32> = map
        .split_ascii_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    numbers == [0, 0, u32::MAX]
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpListener, TcpStream};

    use super::*;

    /// Both ends of a new connection to this address: the client's and the server's.
    fn connect(address: &str) -> Option<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind(address).ok()?;
        let client = TcpStream::connect(listener.local_addr().ok()?).ok()?;
        Some((client, listener.accept().ok()?.0))
    }

    fn find_user(server: &TcpStream) -> Option<u32> {
        find_user_of(server.peer_addr().ok()?, server.local_addr().ok()?)
    }

    #[test]
    fn the_user_of_an_open_connection_is_known() {
        let own = nix::unistd::geteuid().as_raw();
        let v4 = connect("127.0.0.1:0").expect("connected");
        assert_eq!(find_user(&v4.1), Some(own));
        // Hosts may lack IPv6.
        if let Some((_client, server)) = connect("[::1]:0") {
            assert_eq!(find_user(&server), Some(own));
        }
        if let Some((_client, server)) = connect("[::ffff:127.0.0.1]:0") {
            assert_eq!(find_user(&server), Some(own));
        }
    }

    /// The kernel says 0, root, for a socket that no process has open.
    #[test]
    fn the_user_of_a_connection_that_its_client_has_closed_is_unknown() {
        let (client, server) = connect("127.0.0.1:0").expect("connected");
        client.shutdown(Shutdown::Write).expect("shut down");
        assert_eq!(find_user(&server), None);
        drop(client);
        assert_eq!(find_user(&server), None);
        // A process that listens at the port of the closed end is not taken for the client.
        let peer = server.peer_addr().expect("known");
        let listening = TcpListener::bind(peer);
        assert_eq!(find_user(&server), None, "{listening:?}");
    }

    #[test]
    fn only_the_open_socket_with_both_addresses_counts() {
        let (_client, server) = connect("127.0.0.1:0").expect("connected");
        let wanted = SocketId {
            source_port: server.peer_addr().expect("known").port(),
            destination_port: server.local_addr().expect("known").port(),
            source_address: "127.0.0.1".parse().expect("an address"),
            destination_address: "127.0.0.1".parse().expect("an address"),
            interface_id: 0,
            cookie: ANY,
        };
        let original = query_socket(&wanted).expect("asked").expect("found");
        assert_eq!(confirm_user(&wanted, &original), Some(original.uid));
        let changes: [fn(&mut InetResponseHeader); 6] = [
            |found| found.state = 10,
            |found| found.inode = 0,
            |found| found.socket_id.source_port ^= 1,
            |found| found.socket_id.destination_port ^= 1,
            |found| found.socket_id.source_address = "127.0.0.2".parse().expect("an address"),
            |found| found.socket_id.destination_address = "127.0.0.2".parse().expect("an address"),
        ];
        for change in changes {
            let mut found = original.clone();
            change(&mut found);
            assert_eq!(confirm_user(&wanted, &found), None, "{found:?}");
        }
    }
}
