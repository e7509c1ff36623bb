//! Byte-level BPE over the `tokenizers` crate.
//!
//! The crate's own `Tokenizer` keeps "are special tokens parsed" as state and gives up quietly when a
//! regular expression reaches its backtracking limit. So the pipeline is composed here from its public
//! parts, with the two choices as parameters and every error returned.

use ahash::AHashMap;
use fancy_regex::{Regex, RegexBuilder};
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::unicode::NFC;
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
    /// Each match of the expression, and each stretch between matches, is a word of its own.
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
    Split(Regex),
    Digits(Digits),
    Punctuation(Punctuation),
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
        Step::Split(pattern) => Cutter::Split(
            RegexBuilder::new(pattern)
                // Our patterns backtrack at most a few times a character; the default limit would
                // stop a long run of spaces, so the bound is the length of the text.
                .backtrack_limit(usize::MAX)
                .build()
                .map_err(|error| {
                    Failure::new(
                        FailureCode::Unsupported,
                        format!("pattern {pattern:?}: {error}"),
                    )
                })?,
        ),
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
            Cutter::Split(regex) => {
                words.split(|_, word| word.split(regex, SplitDelimiterBehavior::Isolated))
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
