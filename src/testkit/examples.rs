//! Examples in commented YAML files.

/// The alternatives that a commented YAML file shows: the blocks of lines that begin with `#:`, without this prefix.
pub fn commented_examples(text: &str) -> Vec<String> {
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
