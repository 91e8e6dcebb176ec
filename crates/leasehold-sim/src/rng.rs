//! The only source of chance: xoshiro256++, seeded by splitmix64.
//!
//! Integers only, since floating-point functions may differ in the last bit from machine to machine, and
//! one bit is another world.

/// A stream of random numbers that its seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Rng([u64; 4]);

/// How likely something is, in millionths.
pub(crate) type Ppm = u32;

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed;
        Self(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `end`; 0 if there is none.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        let scaled = (u128::from(self.next()) * u128::from(end)) >> 64;
        u64::try_from(scaled).unwrap_or(0)
    }

    /// A place in a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// A number from `least` to `most`, both possible.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    pub(crate) fn chance(&mut self, ppm: Ppm) -> bool {
        ppm > 0 && self.below(1_000_000) < u64::from(ppm)
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.next() >> 63 == 1
    }

    pub(crate) fn pick_ref<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_the_stream() {
        let draw = |seed| -> Vec<u64> {
            let mut rng = Rng::new(seed);
            (0..8).map(|_| rng.next()).collect()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn both_ends_of_a_range_are_drawn() {
        let mut rng = Rng::new(3);
        let drawn: Vec<u64> = (0..100).map(|_| rng.between(4, 6)).collect();
        assert!((4..=6).all(|wanted| drawn.contains(&wanted)));
        assert!(drawn.iter().all(|number| (4..=6).contains(number)));
    }
}
