//! Copies to and from shared memory.

use channel::{copy_from_shared, copy_to_shared};

/// Lengths around those of chunks and of what is fetched ahead; targets anywhere within a page.
#[test]
fn copies_change_their_target_only() {
    let source: Vec<u8> = (0..20_000).map(|at| (at % 251) as u8).collect();
    for length in [0, 1, 1023, 1024, 1025, 1536, 2047, 2048, 5000, 16_384] {
        for distance in [0, 1, 16, 63, 64, 2048, 4095] {
            for copy in [copy_to_shared, copy_from_shared] {
                let mut target = vec![255; 3 * 4096 + length];
                let start =
                    (source.as_ptr().addr() + distance).wrapping_sub(target.as_ptr().addr()) % 4096;
                // SAFETY: within both vectors.
                unsafe { copy(source.as_ptr(), target.as_mut_ptr().add(start), length) };
                assert_eq!(
                    target[start..start + length],
                    source[..length],
                    "{length}, {distance}"
                );
                let others = target[..start].iter().chain(&target[start + length..]);
                assert!(
                    others.into_iter().all(|byte| *byte == 255),
                    "{length}, {distance}"
                );
            }
        }
    }
}
