// Every bound of the project, with what happens at it. Relations between bounds are asserted here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace waypost::limits {

// One transaction changes at most this many rows; more is refused, or planned as a job (LOG.md rule 12).
constexpr size_t kMaxChangesPerTransaction = 16'384;
// Commands a client puts into one transaction of a batch that is not atomic.
constexpr size_t kBatchCommandsPerTransaction = 1'024;
// Members of a nexthop group: other tools' dumps break above it (KERNEL.md K14).
constexpr size_t kMaxGroupMembers = 128;
constexpr uint32_t kMaxWeight = 65'535;
// Bytes of the text of one name (device, congestion control): IFNAMSIZ - 1.
constexpr size_t kMaxDeviceName = 15;
constexpr size_t kMaxEncapSegments = 16;
// One logical line of a batch file; a longer one ends the batch with an error.
constexpr size_t kMaxBatchLineBytes = 64u << 10;

// A frame above this is refused before its body is read; the connection is closed.
constexpr size_t kMaxFrameBytes = 4u << 20;
// A client's request; a server closes the connection above it.
constexpr size_t kMaxRequestBytes = 1u << 20;
// A page or chunk of a stream is filled up to about this size.
constexpr size_t kStreamChunkBytes = 64u << 10;
// Proposals: one payload, and what one log entry carries (LOG.md, the etcd engine).
constexpr size_t kMaxProposalBytes = 480u << 10;
constexpr size_t kEntryTargetBytes = 64u << 10;
constexpr size_t kMaxEntryBytes = 512u << 10;
// Proposals waiting for an append: refused above it ("too many changes in flight").
constexpr size_t kMaxQueuedProposals = 16'384;
constexpr size_t kMaxQueuedProposalBytes = 64u << 20;

// Entries handed to apply at once, and how far apply may lag before the replica reads and appends no more (it
// waits).
constexpr size_t kMaxApplyBatchEntries = 64;
constexpr size_t kMaxApplyBatchBytes = 1u << 20;
constexpr size_t kMaxApplyBacklogBytes = 16u << 20;
// One read of the log is filled up to about this size.
constexpr size_t kLogReadBytes = 1u << 20;
// What an engine reads ahead of the replica; at it the engine stops receiving until some is taken.
constexpr size_t kMaxReadAheadBytes = 4u << 20;
// Positions that one transaction of the etcd engine trims; more are trimmed in steps.
constexpr uint64_t kMaxTrimStep = 1'000;
// Tries of a compare-and-set that another writer keeps winning.
constexpr int kMaxCompareTries = 10;
// Linearizable reads waiting for the log's tail or for apply: refused above it.
constexpr size_t kMaxWaitingBarriers = 16'384;

constexpr size_t kMaxConnections = 512;  // accept pauses at it
constexpr size_t kMaxStreamsPerConnection = 16;
// Requests of one connection being answered; the server stops reading the connection at it.
constexpr size_t kMaxCallsPerConnection = 128;
constexpr size_t kMaxStreamBufferBytes = 1u << 20;  // a stream waits for its reader at it
// Nexthop rows that a listing of routes carries beside them and its reader remembers; both forget all at it.
constexpr size_t kMaxCarriedNexthops = 16'384;
// Requests that wait for a reader: refused above it ("try again").
constexpr size_t kMaxWaitingReads = 1'024;
// Entries kept in the log behind the trim limit, so that a member that was away for a moment needs no
// snapshot; and how many must have come before it is trimmed again.
constexpr uint64_t kKeptLogEntries = 1'024;
constexpr uint64_t kTrimStepEntries = 256;
// Above this many entries a member that is slow to make them durable is not waited for: it heals by a
// snapshot.
constexpr uint64_t kMaxLogEntries = 16'384;
// Jobs of one node at a time; each has this many transactions of this many commands and about so many bytes
// in flight.
constexpr size_t kMaxJobs = 4;
constexpr size_t kJobWindow = 4;
constexpr size_t kJobCommands = 8'192;
constexpr size_t kJobTransactionBytes = 192u << 10;
// Net changes between two revisions are worked out for at most this many changes at a time, and remember at
// most so many inline paths.
constexpr size_t kNetChangesAtOnce = 262'144;
constexpr size_t kMaxRememberedPaths = 1'048'576;
// Rows that a reader looks at before another stream gets its turn.
constexpr size_t kRowsPerTurn = 32'768;
// What a client waits for an answer where it does not say; a connection without a hello is closed after
// kHelloSeconds, and one whose client takes nothing of what waits for it after kStalledReaderSeconds (a pager
// may sit on a listing for a while).
constexpr uint32_t kDefaultDeadlineMs = 30'000;
constexpr uint64_t kHelloSeconds = 5;
constexpr uint64_t kStalledReaderSeconds = 600;

// Client sessions kept in the state; the least recently used one goes at it (LOG.md rule 5).
constexpr size_t kMaxSessions = 4'096;
constexpr size_t kSessionWindow = 64;  // answers kept per session

// Id ranges (SEMANTICS.md A4, B6); ids below kFirstInternedId are the clients'.
constexpr uint32_t kFirstInternedId = 0x8000'0000;
constexpr uint32_t kLastInternedId = 0xBFFF'FFFF;
constexpr uint32_t kFirstScratchId = 0xFFF0'0000;
constexpr uint32_t kLastScratchId = 0xFFFF'EFFF;

// Netlink messages per send (KERNEL.md, "What it costs").
constexpr size_t kNetlinkBatch = 1'024;
// ... or this many bytes of them, whichever comes first; one message is at most the group attribute's 64 KiB
// and its frame.
constexpr size_t kNetlinkBatchBytes = 256u << 10;
// Sends and receives that the kernel put off (EINTR, EAGAIN, ENOBUFS, ENOMEM) before the socket counts as
// lost.
constexpr int kNetlinkRetries = 8;
// Milliseconds without an answer after which the socket counts as lost.
constexpr int kNetlinkTimeoutMs = 10'000;
// Events that one wait() returns; what is behind stays queued in the kernel.
constexpr size_t kMaxEventsPerWait = 4'096;
// kernel_sync: routes looked at one by one; above it their table is scanned.
constexpr size_t kMaxTouchedRoutes = 65'536;
// Rows remembered with the reason why they are not installed; the others are only counted and tried again.
constexpr size_t kMaxFailures = 262'144;
constexpr size_t kMaxFailureWords = 1'024;
// Steps of one plan: what one round of kernel_sync takes is about 50 ms on a slow machine.
constexpr size_t kMaxPlanSteps = 8'192;
// Gets that one look at a dump spends on confirming what it did not show; above it a second dump does.
constexpr size_t kMaxConfirmingGets = 4'096;
// Objects whose repairs are remembered to tell a fight from an accident; the oldest are forgotten.
constexpr size_t kMaxWatchedRepairs = 4'096;
// Bytes of changes taken from the store at once.
constexpr size_t kChangesAtOnceBytes = 4u << 20;
// Examples of each state in a status, and rows in the answer to a wait.
constexpr size_t kMaxReportedRows = 32;

// The tail of the history that is always kept, and the default caps above it.
constexpr uint64_t kDefaultHistoryRevisions = 100'000;
constexpr uint64_t kDefaultHistoryBytes = 1ull << 30;

static_assert(kMaxProposalBytes < kMaxEntryBytes, "an entry must be able to carry one largest proposal");
static_assert(kMaxProposalBytes < kMaxRequestBytes, "a request must be able to carry one largest proposal");
static_assert(kMaxRequestBytes <= kMaxFrameBytes, "a request travels in a frame");
static_assert(kSessionWindow + kMaxStreamsPerConnection < kMaxCallsPerConnection,
              "a full window of transactions must not stop a connection from being read");
static_assert(kJobCommands <= kMaxChangesPerTransaction,
              "a job's transaction must not be refused for its size");
static_assert(kJobTransactionBytes < kMaxProposalBytes, "a job's transaction must fit a proposal");
static_assert(kMaxEntryBytes < kMaxFrameBytes, "an entry must fit a frame");
static_assert(kEntryTargetBytes <= kMaxEntryBytes, "an entry is filled up to the target first");
static_assert(kMaxApplyBacklogBytes >= kLogReadBytes + kMaxEntryBytes,
              "one read must fit the backlog of apply");
static_assert(kBatchCommandsPerTransaction <= kMaxChangesPerTransaction,
              "a batch's transaction must not be refused for its size");
static_assert(kLastInternedId < kFirstScratchId, "the reserved ranges must not overlap");

}  // namespace waypost::limits
