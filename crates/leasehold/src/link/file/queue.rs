//! How a queue is written down.

use super::record::key_of;
use leasehold_core::{
    Instant, Resource, Ticket, Waiter,
    queue::{Entry, Queue},
};

/// The number that a queue begins with: none that a record begins with.
const KIND: u8 = 0x80;

/// The key of a resource's queue: that of its record, behind another byte that is in no UTF-8 text. It stands among the
/// records, so that a store of before there were queues needs no change, and is swept like them.
pub(super) fn queue_key_of(resource: &Resource) -> Vec<u8> {
    [&[0xfe][..], &key_of(resource)].concat()
}

/// The bytes in the file: what they are, and for each who waits the waiter, the ticket and the end of the place, in
/// little endian.
pub(super) fn encode(queue: &Queue) -> Vec<u8> {
    let mut bytes = vec![KIND];
    for entry in queue.entries() {
        let ends = entry.ends.nanos();
        for number in [entry.waiter.number(), entry.ticket.get(), ends] {
            bytes.extend(number.to_le_bytes());
        }
    }
    bytes
}

/// Reads a queue; none if these bytes are none.
pub(super) fn decode(bytes: &[u8]) -> Option<Queue> {
    let (KIND, rest) = bytes.split_first().map(|(kind, rest)| (*kind, rest))? else {
        return None;
    };
    let (entries, []) = rest.as_chunks::<24>() else {
        return None;
    };
    let entry = |bytes: &[u8; 24]| {
        let (numbers, _) = bytes.as_chunks::<8>();
        let [waiter, ticket, ends] = [0, 1, 2].map(|at| u64::from_le_bytes(numbers[at]));
        Some(Entry {
            waiter: Waiter::new(waiter),
            ticket: Ticket::new(ticket)?,
            ends: Instant::from_nanos(ends),
        })
    };
    let entries: Option<Vec<_>> = entries.iter().map(entry).collect();
    entries.map(Queue::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_comes_back_as_it_was_and_what_is_cut_short_is_none() {
        let entry = |number| Entry {
            waiter: Waiter::new(u64::MAX - number),
            ticket: Ticket::LAST,
            ends: Instant::from_nanos(number),
        };
        let queue = Queue::new(vec![entry(1), entry(2)]);
        let bytes = encode(&queue);
        assert_eq!(decode(&bytes), Some(queue));
        for length in [0, 2, 24, 26, 48] {
            assert_eq!(decode(&bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(decode(&[1]), None, "a record is none");
    }

    #[test]
    fn the_longest_name_has_a_queue_that_fits() {
        for length in [1, 500, 501] {
            let resource = Resource::new(&"x".repeat(length)).expect("not too long");
            assert!(queue_key_of(&resource).len() <= 511, "{length}");
        }
    }
}
