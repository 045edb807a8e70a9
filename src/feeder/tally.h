/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run came to: sums over calls. Main thread, after pacer and receiver
 * have stopped.
 */
#ifndef FEEDER_TALLY_H
#define FEEDER_TALLY_H

#include <jansson.h>

#include "feeder/talk.h"

/** Counts of one flow, or of all; name, help. */
#define TALLY_COUNTS(X)                                                        \
	X(planned, "calls of the plan")                                        \
	X(admitted, "calls the daemon accepted")                               \
	X(refused, "calls it refused")                                         \
	X(sent, "frames sent, copies not counted")                             \
	X(withheld, "frames the network model lost")                           \
	X(copies, "frames the network model sent twice")                       \
	X(missed, "frames not sent because the set-up took too long")          \
	X(expected, "frames that should have come back")                       \
	X(received, "frames that came back")                                   \
	X(lost, "frames that did not")                                         \
	X(late, "frames behind their deadline")                                \
	X(duplicates, "frames that came more than once")                       \
	X(reordered, "frames behind a newer one")                              \
	X(unmatched, "packets that answer no frame under way")                 \
	X(digits_sent, "digits dialled of which a packet was sent")            \
	X(digits_right, "of these: came once, in order, as long as they were") \
	X(faults, "faults in the balance of conversations")                    \
	X(octets_sent, "payload octets sent")                                  \
	X(octets_received, "payload octets received")

/** 31 KiB: two histograms. */
struct tally {
#define TALLY_MEMBER(name, help) uint64_t name;
	TALLY_COUNTS(TALLY_MEMBER)
#undef TALLY_MEMBER
	struct histogram delay, jitter;
};

/** Judge what side @i of @t, which began, said. */
void talk_judge(struct talk *t, unsigned i);

/** Add one call; of a conversation, once it is judged. */
void tally_call(struct tally *t, const struct feeder_call *c);

/** Add @from to @to. */
void tally_merge(struct tally *to, const struct tally *from);

/** The value of a metric: ppm or ns. */
int64_t tally_metric(const struct tally *t, enum campaign_metric m);

/** Counts, shares and histograms; owned by the caller. */
json_t *tally_json(const struct tally *t);

#endif
