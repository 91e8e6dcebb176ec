//! Which slot of a cluster a key is in, and which server keeps which slots.

use crate::link::redis::codec::Frame;
use leasehold_core::Resource;

/// A server of a cluster: host and port.
pub(in crate::link::redis) type ServerAddress = (String, u16);

/// How many slots a cluster has.
pub(in crate::link::redis) const SLOTS: u16 = 16_384;

/// The slot of a key. Keys with the same text in braces are in one.
pub(in crate::link::redis) fn slot_of(key: &[u8]) -> u16 {
    crc16(tag(key)) % SLOTS
}

/// The slot of all keys of a resource; none if they are not all in one.
pub(super) fn slot_of_all<'a>(
    resource: &'a Resource,
    key: impl Fn(&'a str) -> std::borrow::Cow<'a, str>,
) -> Option<u16> {
    let slot = |name| slot_of(key(name).as_bytes());
    if !resource.is_several() {
        return Some(slot(resource.as_str()));
    }
    let mut slots = resource.names().map(slot);
    let first = slots.next()?;
    slots.all(|slot| slot == first).then_some(first)
}

/// What counts of a key: what stands in the first braces, if anything does.
fn tag(key: &[u8]) -> &[u8] {
    let place = |of: &[u8], letter: u8| of.iter().position(|byte| *byte == letter);
    let inside = place(key, b'{').and_then(|open| {
        let behind = key.get(open + 1..)?;
        behind.get(..place(behind, b'}')?)
    });
    inside.filter(|inside| !inside.is_empty()).unwrap_or(key)
}

/// CRC-16 as XMODEM has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        let [high, low] = crc.to_be_bytes();
        (u16::from(low) << 8) ^ OF_BYTES[usize::from(high ^ byte)]
    })
}

/// That of each byte alone.
const OF_BYTES: [u16; 256] = {
    let (mut all, mut byte): (_, u16) = ([0; 256], 0);
    while byte < 256 {
        let (mut crc, mut bit) = (byte << 8, 0);
        while bit < 8 {
            crc = (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
            bit += 1;
        }
        all[byte as usize] = crc;
        byte += 1;
    }
    all
};

/// What a server tells of its cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::link::redis) struct SlotMap {
    /// From and to which slot a master keeps them.
    pub(in crate::link::redis) ranges: Vec<(u16, u16, ServerAddress)>,
    /// All servers that it knows of, masters before replicas.
    pub(in crate::link::redis) servers: Vec<ServerAddress>,
}

impl SlotMap {
    /// Reads the answer of the server at `asked` to `CLUSTER SLOTS`; none if it is no such answer.
    pub(super) fn read(frame: &Frame<'_>, asked: &str) -> Option<Self> {
        let Frame::List(entries) = frame else {
            return None;
        };
        let (mut map, mut replicas) = (Self::default(), Vec::new());
        for entry in entries {
            let Frame::List(parts) = entry else {
                return None;
            };
            let [
                Frame::Integer(from),
                Frame::Integer(to),
                master,
                others @ ..,
            ] = &parts[..]
            else {
                return None;
            };
            let slot = |number: i64| u16::try_from(number).ok().filter(|slot| *slot < SLOTS);
            let master = server(master, asked)?;
            map.ranges.push((slot(*from)?, slot(*to)?, master.clone()));
            map.servers.push(master);
            replicas.extend(others.iter().filter_map(|other| server(other, asked)));
        }
        map.servers.append(&mut replicas);
        let mut seen = std::collections::HashSet::new();
        map.servers.retain(|server| seen.insert(server.clone()));
        Some(map)
    }
}

/// Reads where a server is. One that tells no host has that by which it was asked.
fn server(frame: &Frame<'_>, asked: &str) -> Option<ServerAddress> {
    let Frame::List(parts) = frame else {
        return None;
    };
    let [host, Frame::Integer(port), ..] = &parts[..] else {
        return None;
    };
    let host = match host {
        Frame::Text(host) => std::str::from_utf8(host).ok()?,
        _ => "",
    };
    Some((named(host, asked), u16::try_from(*port).ok()?))
}

/// The host of this name; servers that know none of their own say nothing, or a question mark.
pub(super) fn named(host: &str, asked: &str) -> String {
    match host {
        "" | "?" => asked.to_owned(),
        host => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::Resource;

    #[test]
    fn the_slots_are_those_that_servers_tell() {
        // As `CLUSTER KEYSLOT` of Redis 7.0 tells.
        for (key, slot) in [
            ("", 0),
            ("123456789", 12_739),
            ("foo", 12_182),
            ("orders/42", 1_029),
            ("{user1000}.following", 3_443),
            ("{user1000}.followers", 3_443),
            ("foo{}{bar}", 8_363),
            ("foo{{bar}}zap", 4_015),
            ("foo{bar}{zap}", 5_061),
            ("foo{bar", 15_278),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
    }

    #[test]
    fn several_names_have_a_slot_if_it_is_the_same() {
        let slot = |names: [&str; 2]| {
            let resource = Resource::several(names).expect("two names");
            slot_of_all(&resource, std::borrow::Cow::Borrowed)
        };
        assert_eq!(slot(["{a}1", "{a}2"]), Some(slot_of(b"a")));
        assert_eq!(slot(["a", "b"]), None);
    }

    fn place<'a>(host: Frame<'a>, port: i64) -> Frame<'a> {
        let id = Frame::Text(b"id");
        Frame::List(vec![host, Frame::Integer(port), id, Frame::List(vec![])])
    }

    #[test]
    fn an_answer_tells_masters_and_replicas_and_may_leave_the_host_out() {
        let range = |from, to, servers: Vec<Frame<'static>>| {
            let mut parts = vec![Frame::Integer(from), Frame::Integer(to)];
            parts.extend(servers);
            Frame::List(parts)
        };
        let told = Frame::List(vec![
            range(
                0,
                99,
                vec![place(Frame::Text(b"a"), 1), place(Frame::Text(b"b"), 2)],
            ),
            range(100, 16_383, vec![place(Frame::Null, 3)]),
            range(200, 200, vec![place(Frame::Text(b"a"), 1)]),
        ]);
        let at = |host: &str, port| (host.to_owned(), port);
        let map = SlotMap::read(&told, "asked").expect("an answer");
        assert_eq!(
            map.ranges,
            [
                (0, 99, at("a", 1)),
                (100, 16_383, at("asked", 3)),
                (200, 200, at("a", 1))
            ]
        );
        assert_eq!(map.servers, [at("a", 1), at("asked", 3), at("b", 2)]);
        for odd in [
            Frame::Null,
            Frame::List(vec![Frame::Null]),
            Frame::List(vec![range(0, 16_384, vec![place(Frame::Text(b"a"), 1)])]),
            Frame::List(vec![range(0, 1, vec![])]),
        ] {
            assert_eq!(SlotMap::read(&odd, "asked"), None, "{odd:?}");
        }
    }
}
