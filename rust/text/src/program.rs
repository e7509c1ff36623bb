//! Rewrites a compiled template so that its operators are ours (operators.rs).
//!
//! It uses the engine's `unstable_machinery`, which is why Cargo.toml pins one version: only there do
//! operators have names. Instructions are replaced or put in front one by one; jumps are corrected.

use minijinja::machinery::{Instruction, Instructions};
use minijinja::value::Value;

use crate::operators::{
    ADD, CONTAINS, JOIN, LOAD_TEMPLATE, MULTIPLY, PAY, PAY_ITEM, REMAINDER, SET_ATTRIBUTE, STORE,
};

pub fn with_own_operators<'s>(original: &Instructions<'s>) -> Instructions<'s> {
    let groups: Vec<Vec<Instruction<'s>>> = (0..)
        .map_while(|at| original.get(at))
        .map(|instruction| replacement(instruction))
        .collect();
    // Where each original instruction, and the end, will be.
    let mut targets = vec![0u32];
    for group in &groups {
        targets.push(targets[targets.len() - 1] + group.len() as u32);
    }
    let mut result = Instructions::new(original.name(), original.source());
    for (at, group) in groups.into_iter().enumerate() {
        for mut instruction in group {
            if let Some(target) = jump_target(&mut instruction) {
                *target = targets.get(*target as usize).copied().unwrap_or(*target);
            }
            match (original.get_span(at as u32), original.get_line(at as u32)) {
                (Some(span), _) => result.add_with_span(instruction, span),
                (None, Some(line)) => result.add_with_line(instruction, line as u16),
                (None, None) => result.add(instruction),
            };
        }
    }
    result
}

fn replacement<'s>(instruction: &Instruction<'s>) -> Vec<Instruction<'s>> {
    use Instruction as I;
    let call = |name, arguments| I::CallFunction(name, Some(arguments));
    match instruction {
        I::Add => vec![call(ADD, 2)],
        I::Mul => vec![call(MULTIPLY, 2)],
        I::Rem => vec![call(REMAINDER, 2)],
        I::StringConcat => vec![call(JOIN, 2)],
        I::StoreLocal(_) => vec![call(STORE, 1), instruction.clone()],
        I::SetAttr(name) => vec![
            I::LoadConst(Value::from(*name)),
            call(SET_ATTRIBUTE, 3),
            I::DiscardTop,
        ],
        I::Eq | I::Ne | I::Gt | I::Gte | I::Lt | I::Lte | I::CompareAndPreserve(_) => {
            vec![I::DupTop, call(PAY, 1), I::DiscardTop, instruction.clone()]
        }
        I::In => vec![call(CONTAINS, 2)],
        I::GetItem => vec![
            I::DupTop,
            call(PAY, 1),
            I::DiscardTop,
            I::Swap,
            I::DupTop,
            call(PAY_ITEM, 1),
            I::DiscardTop,
            I::Swap,
            I::GetItem,
        ],
        // There are no other templates; this one, loaded by its name, would lack our operators.
        I::Include(_) | I::LoadBlocks => vec![call(LOAD_TEMPLATE, 1)],
        other => vec![other.clone()],
    }
}

fn jump_target<'a>(instruction: &'a mut Instruction<'_>) -> Option<&'a mut u32> {
    match instruction {
        Instruction::Iterate(target)
        | Instruction::Jump(target)
        | Instruction::JumpIfFalse(target)
        | Instruction::JumpIfFalseOrPop(target)
        | Instruction::JumpIfTrueOrPop(target)
        | Instruction::BuildMacro(_, target, _) => Some(target),
        _ => None,
    }
}
