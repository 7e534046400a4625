//! The fenced blocks of README.md.

/// One fenced block.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// What stands behind the opening fence.
    pub(crate) info: String,
    /// The line of the opening fence, counted from 1.
    pub(crate) line: usize,
    /// What stands between the fences.
    pub(crate) text: String,
}

/// The README as it lies in the repository.
pub(crate) const README: &str = include_str!("../../README.md");

/// Every fenced block, in order.
pub(crate) fn all() -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in README.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, open.take()) {
            (Some(rest), None) => {
                open = Some(Block {
                    info: rest.trim().to_owned(),
                    line: index + 1,
                    text: String::new(),
                });
            }
            (Some(""), Some(block)) => blocks.push(block),
            (Some(rest), Some(block)) => panic!(
                "line {}: ```{rest} inside the block of line {}",
                index + 1,
                block.line
            ),
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => assert!(
                !line.trim_start().starts_with("~~~"),
                "line {}: fence with ```",
                index + 1
            ),
        }
    }
    assert!(open.is_none(), "README.md ends inside a block");
    blocks
}

/// The block with this name behind its language.
pub(crate) fn named(name: &str) -> Block {
    let found = all()
        .into_iter()
        .find(|block| block.info.split(' ').nth(1) == Some(name));
    found.unwrap_or_else(|| panic!("README.md has no block named {name}"))
}
