//! Variants of the protocol, each with one decision changed. Most of them replace a rule or a list
//! of steps, through [`Rules`]. The variants called *slips* follow the rules and the lists, but
//! perform a step wrongly; `node.rs` and `world.rs` do that.

use syncline_dsm::carina::{
    Carina, Deposit, Entry, Fence, FenceStep, Known, LineEvent, LineStep, Others, Role, Rules,
    Scheme, Tell, Writers,
};

/// The decision that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// No decision is changed.
    Sound,
    /// When a private line gets its second reader, the first reader gets no notice.
    PrivateOwnerNotTold,
    /// The second writer notifies only the first writer, and later writers notify no node. This is
    /// the rule of section 3.5 of the paper.
    PapersNotice,
    /// The first writer of a line that others read sends no notice.
    FirstWriterTellsNobody,
    /// *Told* is set by the deposit itself, before the notices have arrived.
    ToldAtOnce,
    /// The first writer sets *told*.
    ToldByFirstWriter,
    /// Every line is kept at an acquire.
    StaleKept,
    /// P/S keeps lines that others use.
    SharedKept,
    /// A notice changes nothing.
    NoticeIgnored,
    /// A barrier's downgrade comes after its meeting.
    DowngradeAfterMeeting,
    /// A release does not downgrade.
    ReleaseWithoutDowngrade,
    /// A release does not wait for its puts.
    ReleaseWithoutFlush,
    /// A release waits first, and then downgrades.
    FlushBeforeDowngrade,
    /// An acquire takes in the notices before it takes the lock.
    NoticesBeforeLock,
    /// An acquire drops lines before it takes in the notices.
    NoticesAfterInvalidation,
    /// After a reset, a node goes on although other nodes still empty their parts of the directory.
    ResetInUse,
    /// A writer does not deposit itself.
    WriterNotRegistered,
    /// A node fetches from a home without waiting for its puts to this home.
    FetchUnsettled,
    /// The twin is not renewed at a downgrade.
    OldTwin,
    /// The last run of changed bytes is missing from a diff.
    LostRun,
    /// A page is written home as a whole.
    WholePage,
    /// Slip: a notice overwrites the target's word instead of setting a bit in it.
    NoticeOverwritten,
    /// Slip: a flush waits for puts, but not for notices.
    NoticesNotAwaited,
    /// Slip: the count of all logs' entries is incremented while the entry is still under way.
    CountBeforeLog,
    /// Slip: a private line is not downgraded at a fence.
    PrivateNotDowngraded,
    /// Slip: a written line is dropped without a downgrade.
    DirtyDropped,
    /// Slip: the twin is not the bytes that were fetched, but is read from the home a second time.
    TwinFromHome,
    /// Not wrong: a node fetches first, and then deposits itself.
    FetchBeforeDeposit,
    /// Not wrong: a writer first sends its changes home, and then deposits itself.
    DiffBeforeDeposit,
}

impl Rules for Broken {
    fn deposit(&self, scheme: Scheme, me: usize, role: Role, old: Entry) -> Deposit {
        let answer = Carina.deposit(scheme, me, role, old);
        let silent = Deposit { tell: Tell::Nobody, then_told: false, ..answer };
        match (self, role, old.writers()) {
            (Broken::PrivateOwnerNotTold, Role::Reader, _) => silent,
            (Broken::FirstWriterTellsNobody, Role::Writer, Writers::None) => silent,
            (Broken::PapersNotice, Role::Writer, Writers::One(first)) if first != me => {
                let first = Entry::EMPTY.with_reader(first).readers().expect("one reader");
                Deposit { tell: Tell::Nodes(first), then_told: false, ..answer }
            }
            (Broken::PapersNotice, Role::Writer, Writers::Many) => silent,
            (Broken::ToldAtOnce, ..) if answer.then_told => {
                Deposit { entry: Entry::from_bits(answer.entry.bits() | Entry::TOLD), ..answer }
            }
            (Broken::ToldByFirstWriter, ..) => {
                Deposit { then_told: answer.tell != Tell::Nobody, ..answer }
            }
            _ => answer,
        }
    }

    fn keeps(&self, scheme: Scheme, known: Known) -> bool {
        match self {
            Broken::StaleKept => true,
            Broken::SharedKept => known.reads && known.others != Others::Write,
            _ => Carina.keeps(scheme, known),
        }
    }

    fn after_notice(&self, scheme: Scheme, known: Known) -> Known {
        if *self == Broken::NoticeIgnored { known } else { Carina.after_notice(scheme, known) }
    }

    fn fence(&self, which: Fence) -> &'static [FenceStep] {
        use FenceStep::{Downgrade, Flush, Forget, Invalidate, Notices, Synchronize};
        match (self, which) {
            (Broken::DowngradeAfterMeeting, Fence::Barrier) => {
                &[Synchronize, Downgrade, Flush, Notices, Invalidate]
            }
            (Broken::ReleaseWithoutDowngrade, Fence::Release) => &[Flush, Synchronize],
            (Broken::ReleaseWithoutFlush, Fence::Release) => &[Downgrade, Synchronize],
            (Broken::FlushBeforeDowngrade, Fence::Release) => &[Flush, Downgrade, Synchronize],
            (Broken::NoticesBeforeLock, Fence::Acquire) => &[Notices, Synchronize, Invalidate],
            (Broken::NoticesAfterInvalidation, Fence::Acquire) => {
                &[Synchronize, Invalidate, Notices]
            }
            (Broken::ResetInUse, Fence::Reset) => &[Downgrade, Flush, Synchronize, Notices, Forget],
            _ => Carina.fence(which),
        }
    }

    fn line(&self, event: LineEvent) -> &'static [LineStep] {
        use LineStep::{Diff, Fetch, MakeRoom, Reader, Settle, Twin, Writer};
        match (self, event) {
            (Broken::WriterNotRegistered, LineEvent::Downgrade) => &[Diff, Twin],
            (Broken::OldTwin, LineEvent::Downgrade) => &[Writer, Diff],
            (Broken::FetchUnsettled, LineEvent::Miss) => &[MakeRoom, Reader, Fetch, Twin],
            (Broken::FetchBeforeDeposit, LineEvent::Miss) => {
                &[MakeRoom, Settle, Fetch, Twin, Reader]
            }
            (Broken::DiffBeforeDeposit, LineEvent::Downgrade) => &[Diff, Twin, Writer],
            _ => Carina.line(event),
        }
    }

    fn diff(&self, old: &[u8], new: &[u8], run: &mut dyn FnMut(usize, &[u8])) {
        match self {
            Broken::WholePage => run(0, new),
            Broken::LostRun => {
                let mut runs = 0;
                Carina.diff(old, new, &mut |_, _| runs += 1);
                Carina.diff(old, new, &mut |at, bytes| {
                    runs -= 1;
                    if runs > 0 {
                        run(at, bytes);
                    }
                });
            }
            _ => Carina.diff(old, new, run),
        }
    }
}
