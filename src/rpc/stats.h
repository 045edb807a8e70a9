/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JSON-RPC server counts.
 */
#ifndef RPC_STATS_H
#define RPC_STATS_H

#include <stdint.h>

enum { RPC_ERROR_KINDS = 16 };

struct rpc_error_count {
	int code; /**< enum rpc_code */
	uint64_t count;
};

struct rpc_stats {
	const char *transport; /**< static */
	unsigned associations;
	uint64_t messages_in, messages_out, requests, notifications;
	uint64_t notifications_dropped, replies_lost, slow_peers;
	uint64_t peers_refused;
	uint64_t peers_silent;	/**< cut off to make room for another one */
	uint64_t peers_crowded; /**< cut off, as all together had too much */
	uint64_t queued; /**< bytes that wait for peers or of them, now; what
			      of a batch is answered or read, too          */
	/** By code, in order of first use; the last entry takes the rest. */
	struct rpc_error_count errors[RPC_ERROR_KINDS];
	unsigned nerrors;
};

#endif
