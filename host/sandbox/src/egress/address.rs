//! Which addresses are public: decided on parsed addresses, whatever they were written as.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address that is judged in the place of another: an IPv4 address inside of an IPv6 one reaches
/// the same host (RFC 4291 2.5.5).
pub(super) fn judged(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => address,
        },
        IpAddr::V4(_) => address,
    }
}

/// Whether everybody on the internet means the same host by it. Transition addresses are not public:
/// what they lead to is decided by a gateway that can't be asked.
///
/// Source: the IANA registries of special-purpose addresses (RFC 6890).
pub(super) fn is_public(address: IpAddr) -> bool {
    match judged(address) {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|net| net.has(address)),
        IpAddr::V6(address) => {
            GLOBAL_V6.has(address) && !SPECIAL_V6.iter().any(|net| net.has(address))
        }
    }
}

/// An IPv4 network: its first address and the length of its prefix in bits.
struct NetV4(Ipv4Addr, u32);

impl NetV4 {
    fn has(&self, address: Ipv4Addr) -> bool {
        let mask = u32::MAX.checked_shl(32 - self.1).unwrap_or(0);
        (address.to_bits() ^ self.0.to_bits()) & mask == 0
    }
}

const SPECIAL_V4: [NetV4; 16] = [
    NetV4(Ipv4Addr::UNSPECIFIED, 8),            // this network
    NetV4(Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    NetV4(Ipv4Addr::new(100, 64, 0, 0), 10),    // shared by carriers; metadata of some clouds
    NetV4(Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    NetV4(Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local; metadata of most clouds
    NetV4(Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    NetV4(Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments
    NetV4(Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    NetV4(Ipv4Addr::new(192, 88, 99, 0), 24),   // relays of 6to4
    NetV4(Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    NetV4(Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    NetV4(Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    NetV4(Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    NetV4(Ipv4Addr::new(168, 63, 129, 16), 32), // the platform's own address in one cloud
    NetV4(Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast
    NetV4(Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved, broadcast
];

/// An IPv6 network: its first address and the length of its prefix in bits.
struct NetV6(Ipv6Addr, u32);

impl NetV6 {
    fn has(&self, address: Ipv6Addr) -> bool {
        let mask = u128::MAX.checked_shl(128 - self.1).unwrap_or(0);
        (address.to_bits() ^ self.0.to_bits()) & mask == 0
    }
}

const fn v6(first: u16, second: u16) -> Ipv6Addr {
    Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0)
}

/// All global unicast addresses. Outside of it: unspecified, loopback, IPv4-compatible, NAT64,
/// unique local (metadata of some clouds), link-local, site-local, multicast.
const GLOBAL_V6: NetV6 = NetV6(v6(0x2000, 0), 3);

const SPECIAL_V6: [NetV6; 4] = [
    NetV6(v6(0x2001, 0), 23),     // protocol assignments, Teredo among them
    NetV6(v6(0x2001, 0xdb8), 32), // documentation
    NetV6(v6(0x2002, 0), 16),     // 6to4
    NetV6(v6(0x3fff, 0), 20),     // documentation
];

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn s3_special_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "168.63.129.16",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:a9fe:a9fe",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::5db8:d822",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:53aa:64c::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:5db8:d822::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn s3_other_addresses_are_public() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "50.0.1.244",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:93.184.216.34",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "2003::1",
            "2a00::1",
            "3ffe::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
