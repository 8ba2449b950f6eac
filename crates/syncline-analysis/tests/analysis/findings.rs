//! The documentation of the findings has all of them.

use syncline_analysis::model::Rule::{self, *};

/// Every rule: the compiler says when one is missing in `next`.
fn rules() -> Vec<Rule> {
    let next = |rule| match rule {
        AtomicInstead => Some(SpinlockInstead),
        SpinlockInstead => Some(LookUnderLock),
        LookUnderLock => Some(ReadersExcludeEachOther),
        ReadersExcludeEachOther => Some(OnlyWriters),
        OnlyWriters => Some(PollingTry),
        PollingTry => Some(PollingBarrier),
        PollingBarrier => Some(CondvarForTinyEvents),
        CondvarForTinyEvents => Some(TooMuchData),
        TooMuchData => Some(TooLongSection),
        TooLongSection => Some(ManyTinySections),
        ManyTinySections => Some(ShortQueue),
        ShortQueue => Some(OwnLock),
        OwnLock => Some(AlreadyExclusive),
        AlreadyExclusive => Some(LocalDataOnly),
        LocalDataOnly => Some(SerializedByOuter),
        SerializedByOuter => Some(Rule::AsymmetricContention),
        Rule::AsymmetricContention => Some(UnequalGroups),
        UnequalGroups => Some(UnequalThreads),
        UnequalThreads => Some(Convoy),
        Convoy => Some(PreemptedHolder),
        PreemptedHolder => Some(SleepingHolder),
        SleepingHolder => Some(FutileWakeUps),
        FutileWakeUps => Some(LocksShareLine),
        LocksShareLine => Some(LockBesideData),
        LockBesideData => Some(BothOrders),
        BothOrders => Some(BusyFutex),
        BusyFutex => None,
    };
    std::iter::successors(Some(AtomicInstead), |&rule| next(rule)).collect()
}

#[test]
fn each_rule_is_documented() {
    let documentation = include_str!("../../../../docs/findings.md");
    let missing: Vec<String> = rules()
        .into_iter()
        .map(Rule::name)
        .filter(|name| !documentation.contains(&format!("| `{name}` |")))
        .collect();
    assert!(missing.is_empty(), "docs/findings.md does not mention {missing:?}");
}
