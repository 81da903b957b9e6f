//! The hashes that other tools make their keys with.

/// CRC-32 as zlib computes it (ISO-HDLC): Ruby's `Zlib.crc32`, Go's `ChecksumIEEE`, Python's `zlib.crc32`.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    let folded = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    });
    !folded
}

/// FNV-1 of 32 bits: Go's `fnv.New32`.
#[must_use]
pub fn fnv1(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, byte| hash.wrapping_mul(0x0100_0193) ^ u32::from(*byte))
}

/// Java's `String.hashCode`.
#[must_use]
pub fn java(text: &str) -> i32 {
    text.encode_utf16()
        .fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit.cast_signed()) & 0xffff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_equal_what_other_languages_compute() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b"hourhand"), 3_305_761_317);
        assert_eq!(fnv1(b""), 0x811c_9dc5);
        assert_eq!(fnv1(b"foobar"), 0x31f0_b262);
        assert_eq!(java("hello"), 99_162_322);
        assert_eq!(java("polygenelubricants"), i32::MIN);
    }
}
