//! Commented files that show every key.

/// The other ways to write something that a commented YAML file shows: the blocks of its lines that begin with `#:`,
/// without that.
pub fn examples(text: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in text.lines() {
        match line.strip_prefix("#: ") {
            Some(line) => blocks
                .last_mut()
                .expect("never empty")
                .push_str(&format!("{line}\n")),
            None => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}
