//! Byte-level BPE over the `tokenizers` crate.
//!
//! The crate's own `Tokenizer` keeps "are special tokens parsed" as state, and its expressions backtrack
//! with a limit at which they quietly stop cutting. So the pipeline is composed here from the crate's
//! public parts, with the choice as a parameter and expressions that take linear time.

use ahash::AHashMap;
use regex_automata::meta::Regex;
use regex_automata::Input;
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pattern::Pattern;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::punctuation::Punctuation;
use tokenizers::{
    AddedToken, AddedVocabulary, Model, NormalizedString, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer, SplitDelimiterBehavior,
};

use crate::failure::{Failure, FailureCode};

/// One step that cuts text into words. The last step, bytes to the printable alphabet, is implied.
pub enum Step {
    /// Each match of the expression, and each stretch between matches, is a word of its own. It has no
    /// look-around but that of the usual end: `\s+(?!\S)|\s+`.
    Split(String),
    /// Each digit is a word of its own.
    IndividualDigits,
    /// A run of digits is a word of its own.
    ContiguousDigits,
    /// A run of punctuation is a word of its own.
    ContiguousPunctuation,
}

pub struct Spec<'a> {
    /// By id, in the printable byte alphabet; None is an entry that text can never become.
    pub tokens: Vec<Option<&'a str>>,
    /// (left, right), best first.
    pub merges: Vec<(&'a str, &'a str)>,
    /// (id, is it special): found in text before anything else.
    pub added: Vec<(u32, bool)>,
    pub steps: Vec<Step>,
    pub normalize_nfc: bool,
    /// A word that is in the vocabulary is that entry, whatever the merges say.
    pub ignore_merges: bool,
}

enum Cutter {
    Split(Expression),
    Digits(Digits),
    Punctuation(Punctuation),
}

/// An expression for words. Those of the published tokenizers end in two alternatives for white space: all
/// of it, but its last character is left to the word that follows. Together they need no look-ahead: what
/// `\s+` finds is cut by one character if a word follows. So an automaton can search for it.
struct Expression {
    /// Pattern 0 are the alternatives before, pattern 1 is `\s+`.
    automaton: Regex,
}

const SPACE_END: &str = r"|\s+(?!\S)|\s+";
const SPACE: usize = 1;

impl Expression {
    fn new(pattern: &str) -> Result<Expression, Failure> {
        let automaton = match pattern.strip_suffix(SPACE_END) {
            Some(words) => Regex::new_many(&[words, r"\s+"]),
            None => Regex::new(pattern),
        };
        let automaton = automaton.map_err(|error| {
            let message = format!("pattern {pattern:?}: {error}");
            Failure::new(FailureCode::Unsupported, message)
        })?;
        Ok(Expression { automaton })
    }

    fn find(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let found = self.automaton.find(Input::new(text).range(from..))?;
        let (start, mut end) = (found.start(), found.end());
        if found.pattern().as_usize() == SPACE && end < text.len() {
            let last = text[start..end]
                .chars()
                .next_back()
                .map_or(0, char::len_utf8);
            if end - last > start {
                end -= last;
            }
        }
        Some((start, end))
    }
}

impl Pattern for &Expression {
    fn find_matches(&self, inside: &str) -> tokenizers::Result<Vec<((usize, usize), bool)>> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some((start, end)) = self.find(inside, at) {
            if start > at {
                pieces.push(((at, start), false));
            }
            if end == start {
                return Err("a pattern matches the empty text".into());
            }
            pieces.push(((start, end), true));
            at = end;
        }
        if at < inside.len() || inside.is_empty() {
            pieces.push(((at, inside.len()), false));
        }
        Ok(pieces)
    }
}

pub struct Tokenizer {
    model: BPE,
    cutters: Vec<Cutter>,
    normalize_nfc: bool,
    all_added: AddedVocabulary,
    without_special: AddedVocabulary,
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureCode::Internal, error.to_string())
}

impl Tokenizer {
    pub fn new(spec: &Spec) -> Result<Tokenizer, Failure> {
        let mut vocabulary: AHashMap<String, u32> = AHashMap::with_capacity(spec.tokens.len());
        for (id, token) in spec.tokens.iter().enumerate() {
            if let Some(token) = token {
                // Of equal entries the first is the one that text becomes.
                vocabulary.entry((*token).to_owned()).or_insert(id as u32);
            }
        }
        let mut merges = Vec::with_capacity(spec.merges.len());
        for (rank, (left, right)) in spec.merges.iter().enumerate() {
            for part in [*left, *right, &[*left, *right].concat()] {
                if !vocabulary.contains_key(part) {
                    return Err(Failure::new(
                        FailureCode::CorruptData,
                        format!(
                            "merge {rank}: \"{}\" is not in the vocabulary",
                            part.escape_debug()
                        ),
                    ));
                }
            }
            merges.push(((*left).to_owned(), (*right).to_owned()));
        }
        let model = BPE::builder()
            .vocab_and_merges(vocabulary, merges)
            .ignore_merges(spec.ignore_merges)
            .build()
            .map_err(internal)?;
        let cutters = spec
            .steps
            .iter()
            .map(compile)
            .collect::<Result<Vec<_>, _>>()?;
        let all_added = added_vocabulary(spec, &model, true)?;
        let without_special = added_vocabulary(spec, &model, false)?;
        Ok(Tokenizer {
            model,
            cutters,
            normalize_nfc: spec.normalize_nfc,
            all_added,
            without_special,
        })
    }

    pub fn encode(&self, text: &str, parse_special: bool) -> Result<Vec<u32>, Failure> {
        let added = if parse_special {
            &self.all_added
        } else {
            &self.without_special
        };
        let normalizer = self.normalize_nfc.then_some(&NFC);
        let mut words = added.extract_and_normalize(normalizer, text);
        for cutter in &self.cutters {
            cutter.cut(&mut words).map_err(internal)?;
        }
        // Without its own expression this step only changes the alphabet.
        ByteLevel::new(false, false, false)
            .pre_tokenize(&mut words)
            .map_err(internal)?;
        words
            .tokenize(|word: &NormalizedString| self.model.tokenize(word.get()))
            .map_err(internal)?;
        let mut ids = Vec::new();
        for (_, _, tokens) in words.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            ids.extend(tokens.iter().flatten().map(|token| token.id));
        }
        Ok(ids)
    }
}

fn compile(step: &Step) -> Result<Cutter, Failure> {
    Ok(match step {
        Step::Split(pattern) => Cutter::Split(Expression::new(pattern)?),
        Step::IndividualDigits => Cutter::Digits(Digits::new(true)),
        Step::ContiguousDigits => Cutter::Digits(Digits::new(false)),
        Step::ContiguousPunctuation => {
            Cutter::Punctuation(Punctuation::new(SplitDelimiterBehavior::Contiguous))
        }
    })
}

impl Cutter {
    fn cut(&self, words: &mut PreTokenizedString) -> tokenizers::Result<()> {
        match self {
            Cutter::Split(expression) => {
                words.split(|_, word| word.split(expression, SplitDelimiterBehavior::Isolated))
            }
            Cutter::Digits(digits) => digits.pre_tokenize(words),
            Cutter::Punctuation(punctuation) => punctuation.pre_tokenize(words),
        }
    }
}

fn added_vocabulary(
    spec: &Spec,
    model: &BPE,
    with_special: bool,
) -> Result<AddedVocabulary, Failure> {
    let tokens = spec
        .added
        .iter()
        .filter(|(_, special)| with_special || !special)
        .filter_map(|(id, special)| {
            let text = spec.tokens[*id as usize]?;
            Some(AddedToken::from(text, *special).normalized(false))
        });
    let mut added = AddedVocabulary::new();
    added
        .add_tokens(tokens, model, None::<&NFC>)
        .map_err(internal)?;
    Ok(added)
}

#[cfg(test)]
mod tests {
    use super::Expression;

    fn cut(pattern: &str, text: &str) -> Vec<String> {
        let expression = Expression::new(pattern).unwrap();
        let mut words = Vec::new();
        let mut at = 0;
        while let Some((start, end)) = expression.find(text, at) {
            words.push(text[start..end].to_owned());
            at = end;
        }
        words
    }

    /// The words that an engine with look-ahead finds, here Python's.
    #[test]
    fn white_space_leaves_its_last_character_to_a_word() {
        let words = r" ?\w+|\s+(?!\S)|\s+";
        for (text, expected) in [
            ("a  b", vec!["a", " ", " b"]),
            ("a \n\tb", vec!["a", " \n", "\t", "b"]),
            ("a   ", vec!["a", "   "]),
            ("\u{3000}\u{3000}b", vec!["\u{3000}", "\u{3000}", "b"]),
            ("\nb", vec!["\n", "b"]),
            (" ", vec![" "]),
        ] {
            assert_eq!(cut(words, text), expected);
        }
        // The alternatives before come first, as in llama3: line ends belong together.
        let lines = r" ?\w+|\s*[\r\n]+|\s+(?!\S)|\s+";
        assert_eq!(cut(lines, "a \n\n  b"), ["a", " \n\n", " ", " b"]);
    }

    #[test]
    fn other_look_around_is_refused() {
        assert!(Expression::new(r"a(?=b)").is_err());
        assert!(Expression::new(r"(").is_err());
    }
}
