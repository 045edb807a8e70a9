/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of bench-load: sockets, where they send to, what they send, what
 * has come back. An answer is its socket's; with LOAD_SHARED, the answers to
 * call 0 have the SSRC 1, those to the next one 2, and so on. One thread.
 */
#ifndef TESTS_BENCH_WIRE_CALLS_H
#define TESTS_BENCH_WIRE_CALLS_H

#include <stdio.h>
#include <sys/socket.h>

#include "load_options.h"
#include "match.h"
#include "observe/histogram.h"
#include "payloads.h"

/** RTP timestamp of each call's first packet. Not 0, which some receivers take
 * for none. */
#define CALLS_TS_FIRST 8000u

struct call {
	int fd; /**< with LOAD_SHARED all have the same */
	struct sockaddr_storage to;
	uint32_t ssrc;
	uint8_t pt;
	uint16_t seq; /**< of its first packet */
	struct match match;
};

/** Of the packets sent while it counts, and their answers. */
struct tally {
	uint64_t sent, received; /**< received: without duplicates           */
	uint64_t refused;	 /**< by the own socket: not sent            */
	uint64_t duplicate, reordered, out_of_sequence;
	uint64_t strange; /**< answers to nothing, whenever                  */
	uint64_t wrong;	  /**< received, but not what was expected           */
	struct histogram delay, late; /**< late: sent after their time       */
};

struct calls {
	const struct load_options *opt;
	struct call *call; /* opt->calls */
	struct payloads payloads;
	uint32_t rtp_ticks; /**< RTP timestamp units from packet to packet */
	struct intake *intake;
	int epoll;
	int *fds;
	unsigned sockets;
	cr_ns begin, end; /**< packets sent from then, until then count */
	struct tally tally;
};

/** Sockets and speech; raises the limit of descriptors. 0, or -errno with @e.
 */
int calls_open(struct calls *c, const struct load_options *opt,
	       struct cr_err *e);
void calls_close(struct calls *c);

/** The calls' own addresses on @out, on one line, after @word. */
void calls_report(const struct calls *c, const char *word, FILE *out);

/** A target a line from @in. 0, or -EINVAL with @e. */
int calls_targets(struct calls *c, FILE *in, struct cr_err *e);

/** Send the next packet of call @i, which was due at @due. */
void calls_send(struct calls *c, unsigned i, cr_ns due);

/** Take all answers that there are. */
void calls_receive(struct calls *c);

#endif
