//! Captured packets as pcap files with nanoseconds, which Wireshark and its kin open.
//!
//! Packets begin with an IPv4 header (link type 101, raw IP). Host n has the address 10.0.0.0 + n + 1. The
//! flow's number gives its sender's port; the receiver's is 5001 for TCP and 49152 for UDP, and the next ones
//! for further connections of the same flow. The class of a packet is a class selector in the DSCP. Payload is cut
//! off: the headers are in the file, the length on the wire is in each record. Source of the format: the Internet-Draft draft-ietf-opsawg-pcap.

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use flowyard_sim::ids::NodeId;
use flowyard_sim::observe::capture::{Cable, Captured};
use flowyard_sim::transport::frame::{Frame, TcpFrame, UDP_PORT};

/// The magic number of files with nanoseconds.
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// The link type of packets that begin with an IP header.
const RAW_IP: u32 = 101;
/// The longest record: what tcpdump has.
const SNAPLEN: u32 = 262_144;

/// The receiver's port of TCP packets: iperf's.
const TCP_PORT: u16 = 5001;
/// Senders' ports are from Linux's range of ephemeral ones.
const EPHEMERAL: std::ops::Range<u32> = 32_768..60_999;

/// A name for a cable's file: "12-host_3-edge_0.pcap", with the number of the lower of its links.
pub fn file_name(cable: &Cable) -> String {
    let plain = |name: &String| -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        name.chars().take(60).map(plain).collect()
    };
    format!("{}-{}-{}.pcap", cable.link, plain(&cable.ends[0]), plain(&cable.ends[1]))
}

/// The file's bytes.
pub fn pcap(cable: &Cable) -> Vec<u8> {
    let mut file = Vec::new();
    let header = [NANOSECONDS, 4 << 16 | 2, 0, 0, SNAPLEN, RAW_IP];
    header.iter().for_each(|word| file.extend(word.to_le_bytes()));
    for packet in &cable.packets {
        let (bytes, length) = headers(packet);
        let ns = packet.at.0 / 1000;
        let record = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, bytes.len() as u32, length];
        record.iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(bytes);
    }
    file
}

/// The captured bytes of a packet, and its length on the wire from the IP header on.
///
/// A packet that is simulated with less than its headers would take is as long as these.
fn headers(packet: &Captured) -> (Vec<u8>, u32) {
    let range = EPHEMERAL.end - EPHEMERAL.start;
    let sender = (EPHEMERAL.start + packet.flow.0 % range) as u16;
    let ports = |receiver: u16| {
        let receiver = receiver + u16::from(packet.subflow);
        if packet.forward { (sender, receiver) } else { (receiver, sender) }
    };
    let mut bytes = Vec::new();
    let length = match packet.frame {
        Frame::Tcp(frame) => {
            let length = packet.ip_bytes.max(IP + TCP);
            let ip = ip_header(packet, length, IpNumber::TCP);
            let mut tcp = tcp_header(frame, ports(TCP_PORT));
            // What is sent has no content: the checksum is that of zeros.
            let payload = vec![0; (length - IP - TCP) as usize];
            tcp.checksum = tcp.calc_checksum_ipv4(&ip, &payload).expect("no longer than IP allows");
            ip.write(&mut bytes).expect("memory takes all");
            tcp.write(&mut bytes).expect("memory takes all");
            length
        }
        Frame::Udp { payload } => {
            let length = packet.ip_bytes.max(IP + UDP);
            let (source_port, destination_port) = ports(UDP_PORT);
            // A checksum of 0 says that there is none (RFC 768).
            let udp = UdpHeader { source_port, destination_port, length: (length - IP) as u16, checksum: 0 };
            ip_header(packet, length, IpNumber::UDP).write(&mut bytes).expect("memory takes all");
            udp.write(&mut bytes).expect("memory takes all");
            let shown = payload.len().min((length - IP - UDP) as usize);
            bytes.extend(&payload[..shown]);
            length
        }
    };
    (bytes, length)
}

/// Bytes of the headers without options.
const IP: u32 = 20;
const TCP: u32 = 20;
const UDP: u32 = 8;

fn ip_header(packet: &Captured, length: u32, protocol: IpNumber) -> Ipv4Header {
    let address = |host: NodeId| (0x0a00_0000 + host.0 + 1).to_be_bytes();
    let time_to_live = 64u8.saturating_sub(packet.hops).max(1);
    let mut ip = Ipv4Header::new(
        (length - IP) as u16,
        time_to_live,
        protocol,
        address(packet.src),
        address(packet.dst),
    )
    .expect("the longest simulated packet is IP's");
    ip.ecn = IpEcn::try_new(packet.ecn).expect("two bits");
    ip.dscp = IpDscp::try_new(packet.class.map_or(0, dscp)).expect("six bits");
    ip.header_checksum = ip.calc_header_checksum();
    ip
}

/// The class selector of a class (RFC 2474, 4.2.2): CS7 for class 0, which goes first, down to CS0 for class 7.
fn dscp(class: u8) -> u8 {
    8 * (7 - class.min(7))
}

fn tcp_header(frame: TcpFrame, (from, to): (u16, u16)) -> TcpHeader {
    let mut tcp = TcpHeader::new(from, to, frame.seq, frame.window);
    tcp.syn = frame.syn;
    tcp.ack = frame.is_ack;
    tcp.acknowledgment_number = frame.ack;
    tcp.psh = frame.psh;
    tcp.ece = frame.ece;
    tcp.cwr = frame.cwr;
    tcp
}
