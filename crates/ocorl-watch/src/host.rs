//! Host names of this server. In a DNS rebinding attack another site's name resolves to this machine, and the browser sends that
//! name. The server therefore answers only to names that cannot belong to another site.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host, as in the header `Host` or in an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) name: Name,
    /// Port; `None` for the default one.
    pub(crate) port: Option<u16>,
}

/// Name part of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// An IP address.
    Address(IpAddr),
    /// A domain name in lower case, without a trailing dot.
    Domain(String),
}

impl Host {
    /// Parses `name`, `name:port`, `[v6]` or `[v6]:port`; `None` if the text is none of these.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, port) = if let Some(rest) = text.strip_prefix('[') {
            let (inside, after) = rest.split_once(']')?;
            let address: Ipv6Addr = inside.parse().ok()?;
            let port = if after.is_empty() { None } else { Some(after.strip_prefix(':')?) };
            (Name::Address(IpAddr::V6(address).to_canonical()), port)
        } else {
            let (name, port) = match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            };
            (words(name)?, port)
        };
        let port = match port {
            None | Some("") => None,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok().filter(|port| *port > 0)?)
            }
            Some(_) => return None,
        };
        Some(Host { name, port })
    }

    /// The host of an origin `http://host:port`.
    pub(crate) fn of_origin(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        if scheme.eq_ignore_ascii_case("http") { Host::parse(rest) } else { None }
    }

    /// Whether this names this machine: localhost, a loopback address, or the address `local` at which the request arrived.
    pub(crate) fn is_ours(&self, local: IpAddr) -> bool {
        match &self.name {
            Name::Address(address) => address.is_loopback() || *address == local.to_canonical(),
            Name::Domain(words) => words == "localhost",
        }
    }

    /// Whether both are the same host and port.
    pub(crate) fn same(&self, other: &Host) -> bool {
        const HTTP: u16 = 80;
        self.name == other.name && self.port.unwrap_or(HTTP) == other.port.unwrap_or(HTTP)
    }
}

fn words(name: &str) -> Option<Name> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Some(Name::Address(address.into()));
    }
    let plain = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let good = name.len() <= 253 && name.split('.').all(plain);
    good.then(|| Name::Domain(name.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_as_they_are_meant() {
        let same = |a: &str, b: &str| Host::parse(a).unwrap().same(&Host::parse(b).unwrap());
        assert!(same("localhost", "LOCALHOST.:80"));
        assert!(same("[::1]:8017", "[0:0:0:0:0:0:0:1]:8017"));
        assert!(!same("localhost:8017", "localhost") && !same("localhost:1", "127.0.0.1:1"));
        assert_eq!(Host::of_origin("http://localhost:1"), Host::parse("localhost:1"));
        for none in ["null", "https://localhost:1", "http://", "http://localhost/", "localhost", "file://"] {
            assert_eq!(Host::of_origin(none), None, "{none}");
        }
    }
}
