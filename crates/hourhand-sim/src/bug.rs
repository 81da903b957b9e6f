//! Bugs that can be planted, to show that the simulator is able to fail.
//!
//! They live in the model of the server and in what stands in for the node's loop, not in the core: that one is tested as it is
//! shipped.

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Bug {
    /// What has been handled is checked by the look before the lock only, not by the start.
    CheckBeforeLockOnly,
    /// The start waits for the row and asks history what has been handled: answered from the snapshot of before the wait.
    CheckByHistory,
    /// The lock is let go before the end is recorded.
    UnlockBeforeEnd,
    /// Trust counts from a ping's answer instead of its sending.
    PingCountedFromAnswer,
    /// The next epoch is the node's own last one plus one.
    EpochInMemory,
    /// The next epoch is the row's plus one, so that a failover that loses commits repeats it.
    EpochFromRowOnly,
    /// The fence passes any run that is not newer than the row.
    FenceTooWide,
    /// Whoever finds the lock taken writes the occurrence off as skipped.
    SkipByFinder,
    /// A lost run is not counted as a death.
    DeathsForgotten,
    /// A session that is given up is closed at once, while its bodies still stop.
    CloseBeforeBodiesEnd,
    /// The maintainer ends whoever was silent for as long as a ping may take.
    EvictTooSoon,
    /// A lock whose answer never came is not looked for.
    DoubtIgnored,
    /// Whoever stands down for another definition does so for ever.
    StandDownForEver,
    /// A start does not ask for the definition that it rests on.
    StartsAnyDefinition,
    /// The start of a run that was asked for leaves the request to be taken by somebody else.
    RequestNotTaken,
    /// The backoff of a continuous job is known to the node that ran it, and to nobody else.
    BackoffInMemory,
    /// A lost run of another job of the group is not ended before one begins.
    GroupNotFenced,
    /// A success counts as covered whatever lies between.
    WindowsWithGaps,
    /// A run that failed moves the window as well.
    FailureCovers,
    /// A process runs what its own condition forbids.
    ConditionIgnored,
    /// Lost runs that nobody takes over are shown to nobody.
    LostNotShown,
    /// A new name takes over while a run under the old one is under way.
    TakenOverWhileRunning,
    /// A start under the old name does not ask whether the job goes on under another.
    OldNameStarts,
    /// A group's lock is tried after the job's, and whether it was had is not looked at.
    GroupNotAsked,
}

impl Bug {
    /// The promises that it breaks, one of which has to be missed.
    pub fn breaks(self) -> &'static [&'static str] {
        match self {
            Bug::CheckBeforeLockOnly | Bug::CheckByHistory => &["P1", "P3"],
            Bug::GroupNotAsked | Bug::TakenOverWhileRunning => &["P1"],
            Bug::OldNameStarts => &["P1", "P2", "P11"],
            Bug::UnlockBeforeEnd => &["P4", "P7"],
            Bug::EpochInMemory | Bug::EpochFromRowOnly | Bug::FenceTooWide | Bug::GroupNotFenced => &["P2"],
            Bug::SkipByFinder => &["P3"],
            Bug::DeathsForgotten | Bug::StandDownForEver | Bug::BackoffInMemory | Bug::LostNotShown => &["P8"],
            Bug::StartsAnyDefinition => &["deploy"],
            Bug::PingCountedFromAnswer | Bug::CloseBeforeBodiesEnd | Bug::EvictTooSoon => &["P7"],
            Bug::DoubtIgnored => &["P1", "P8"],
            Bug::RequestNotTaken => &["request"],
            Bug::WindowsWithGaps | Bug::FailureCovers => &["P11"],
            Bug::ConditionIgnored => &["only_if"],
        }
    }

    /// All of them.
    pub const ALL: [Bug; 24] = [
        Bug::CheckBeforeLockOnly,
        Bug::CheckByHistory,
        Bug::UnlockBeforeEnd,
        Bug::PingCountedFromAnswer,
        Bug::EpochInMemory,
        Bug::EpochFromRowOnly,
        Bug::FenceTooWide,
        Bug::SkipByFinder,
        Bug::DeathsForgotten,
        Bug::CloseBeforeBodiesEnd,
        Bug::EvictTooSoon,
        Bug::DoubtIgnored,
        Bug::StandDownForEver,
        Bug::StartsAnyDefinition,
        Bug::RequestNotTaken,
        Bug::BackoffInMemory,
        Bug::GroupNotAsked,
        Bug::LostNotShown,
        Bug::WindowsWithGaps,
        Bug::FailureCovers,
        Bug::ConditionIgnored,
        Bug::GroupNotFenced,
        Bug::TakenOverWhileRunning,
        Bug::OldNameStarts,
    ];
}
