//! Maps a number between 0 and 1 to a colour of the viridis map.
//!
//! Viridis is by Smith and van der Walt for matplotlib 2.0 (released as CC0). It is perceptually uniform, its lightness increases
//! monotonically (so it also prints in grey), and colour-blind readers see the same order.

/// Every fifteenth of matplotlib's 256 colours. Linear interpolation between them is off by at most 5/255.
const ANCHORS: [[u8; 3]; 18] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x17, 0x69],
    [0x47, 0x2a, 0x7a],
    [0x43, 0x3d, 0x84],
    [0x3d, 0x4e, 0x8a],
    [0x35, 0x5e, 0x8d],
    [0x2e, 0x6d, 0x8e],
    [0x29, 0x7b, 0x8e],
    [0x23, 0x89, 0x8e],
    [0x1f, 0x97, 0x8b],
    [0x21, 0xa5, 0x85],
    [0x2e, 0xb3, 0x7c],
    [0x46, 0xc0, 0x6f],
    [0x65, 0xcb, 0x5e],
    [0x89, 0xd5, 0x48],
    [0xb0, 0xdd, 0x2f],
    [0xd8, 0xe2, 0x19],
    [0xfd, 0xe7, 0x25],
];

/// Number of distinct colours drawn. Neighbouring cells of equal colour are merged into one path.
pub(crate) const LEVELS: u8 = 64;

/// The colour level of `share`; values outside 0 to 1 are clamped.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped, and casts saturate")]
pub(crate) fn level(share: f64) -> u8 {
    (share * f64::from(LEVELS)).clamp(0.0, f64::from(LEVELS - 1)) as u8
}

/// The colour of `level`, as an SVG colour.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 255")]
pub(crate) fn color(level: u8) -> String {
    let at = f64::from(level) / f64::from(LEVELS - 1) * (ANCHORS.len() - 1) as f64;
    let index = (at as usize).min(ANCHORS.len() - 2);
    let share = at - index as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + share * (f64::from(b) - f64::from(a))).round() as u8;
    let [a, b] = [ANCHORS[index], ANCHORS[index + 1]];
    format!("#{:02x}{:02x}{:02x}", mix(a[0], b[0]), mix(a[1], b[1]), mix(a[2], b[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lightness_rises_from_end_to_end() {
        assert_eq!((color(0), color(LEVELS - 1)), ("#440154".to_owned(), "#fde725".to_owned()));
        let luminance = |level: u8| -> f64 {
            let channel = |at: usize| f64::from(u8::from_str_radix(&color(level)[at..at + 2], 16).unwrap());
            [(1, 0.2126), (3, 0.7152), (5, 0.0722)]
                .map(|(at, weight)| weight * (channel(at) / 255.0).powf(2.2))
                .iter()
                .sum()
        };
        for next in 1..LEVELS {
            assert!(luminance(next) > luminance(next - 1), "{} {}", color(next - 1), color(next));
        }
    }

    #[test]
    fn every_share_has_a_level() {
        let shares = [f64::NEG_INFINITY, -1.0, 0.0, 0.5, 1.0 - 1e-12, 1.0, 7.0, f64::INFINITY];
        assert_eq!(shares.map(level), [0, 0, 0, 32, 63, 63, 63, 63]);
    }
}
