//! A Markdown file as the checks see it: text outside code blocks, links, anchors of headings, words.

/// A line outside fenced code blocks, with its number from 1.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
}

/// The lines outside fenced code blocks and HTML comments.
pub(super) fn prose(text: &str) -> Vec<Line<'_>> {
    let (mut lines, mut fence) = (Vec::new(), None::<&str>);
    for (i, line) in text.lines().enumerate() {
        let start = line.trim_start();
        match fence {
            Some(mark) if start.trim_end() == mark => fence = None,
            Some(_) => {}
            None if start.starts_with("````") => fence = Some("````"),
            None if start.starts_with("```") => fence = Some("```"),
            None if start.starts_with("<!--") => {}
            None => lines.push(Line { number: i + 1, text: line }),
        }
    }
    lines
}

/// The line with the contents of `code spans` replaced by blanks.
pub(super) fn without_code(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].bytes().take_while(|b| *b == b'`').count();
        let after = &rest[start + ticks..];
        let Some(end) = after.find(&"`".repeat(ticks)) else { break };
        out += &rest[..start];
        out.push(' ');
        rest = &after[end + ticks..];
    }
    out + rest
}

/// Targets of the links and images in a line, as written.
pub(super) fn links(line: &str) -> Vec<String> {
    let line = without_code(line);
    let mut found = Vec::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let Some(end) = rest.find(')') else { break };
        let target = rest[..end].split_whitespace().next().unwrap_or("");
        found.push(target.trim_matches(['<', '>']).to_owned());
        rest = &rest[end..];
    }
    for attribute in ["src=\"", "href=\""] {
        for part in line.split(attribute).skip(1) {
            found.extend(part.split('"').next().map(String::from));
        }
    }
    found
}

/// Anchors of the headings, as code hosts and the site form them; a repeated heading gets a number.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in prose(text) {
        let level = line.text.bytes().take_while(|b| *b == b'#').count();
        let Some(heading) = line.text[level..].strip_prefix(' ').filter(|_| (1..=6).contains(&level)) else {
            continue;
        };
        let base = anchor(heading);
        let again = found.iter().filter(|other| **other == base).count();
        found.push(if again == 0 { base } else { format!("{base}-{again}") });
    }
    found
}

/// The anchor of one heading: lower case, blanks become hyphens, punctuation is left out.
fn anchor(heading: &str) -> String {
    let mut shown = heading.trim().replace('`', "");
    // Of a link only its text is part of the heading.
    while let (Some(open), Some(middle)) = (shown.find('['), shown.find("](")) {
        let Some(end) = shown[middle..].find(')') else { break };
        shown = format!("{}{}{}", &shown[..open], &shown[open + 1..middle], &shown[middle + end + 1..]);
    }
    let kept = shown.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// The words of a line, in lower case: letters of the Latin alphabet and apostrophes between them. Code, addresses, and what contains
/// digits, underscores or other signs of names are left out.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut line = without_code(line);
    // Targets of links.
    while let Some(start) = line.find("](") {
        let end = line[start..].find(')').map_or(line.len(), |end| start + end + 1);
        line.replace_range(start..end, " ");
    }
    // HTML elements.
    while let (Some(start), Some(end)) = (line.find('<'), line.find('>')) {
        if end < start {
            line.replace_range(end..=end, " ");
            continue;
        }
        line.replace_range(start..=end, " ");
    }
    let without_addresses: Vec<&str> = line.split_whitespace().filter(|part| !part.contains("://")).collect();
    let line = without_addresses.join(" ");
    let mut found = Vec::new();
    for piece in line.split(|c: char| c.is_whitespace() || "\"“”()[]{}|*,;:!?/–—-…=+".contains(c)) {
        let piece = piece.trim_matches(|c: char| !c.is_alphanumeric());
        let name = piece.contains(['_', '.', '\\', '#', '@', '^', '$', '&', '~', '%']);
        let plain = |c: char| {
            c.is_ascii_alphabetic() || matches!(c, '\'' | '’' | 'é' | 'ö' | 'ü' | 'ä' | 'ï' | 'è' | 'ô' | 'ó')
        };
        if name || piece.chars().count() < 3 || !piece.chars().all(plain) {
            continue;
        }
        let word = piece.replace('’', "'").to_lowercase();
        found.push(word.strip_suffix("'s").unwrap_or(&word).trim_matches('\'').to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_left_out() {
        let text = "one\n```console\n$ two\n```\nthree `fo ur` five\n";
        let lines = prose(text);
        assert_eq!(lines.iter().map(|l| l.number).collect::<Vec<_>>(), [1, 5]);
        assert_eq!(words(lines[1].text), ["three", "five"]);
    }

    #[test]
    fn links_and_images_are_found() {
        assert_eq!(links("see [a](b.md#c) and ![d](e.svg \"title\") `[x](y)`"), ["b.md#c", "e.svg"]);
        assert_eq!(links("<img src=\"f.svg\" alt=\"g\">"), ["f.svg"]);
    }

    #[test]
    fn anchors_are_those_of_code_hosts() {
        let text = "# What β does\n## `ocorl run`, and more\n## What β does\n```\n# no heading\n```\n";
        assert_eq!(anchors(text), ["what-β-does", "ocorl-run-and-more", "what-β-does-1"]);
    }

    #[test]
    fn words_have_no_addresses_and_no_possessives() {
        assert_eq!(
            words("The paper's [table](../a-b.md), see https://example.org/x run.json now"),
            ["the", "paper", "table", "see", "now"]
        );
    }
}
