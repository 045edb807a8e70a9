/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named event counters: a block per thread, summed by whoever asks.
 *
 * The list below is the only place that knows the names: a new counter is one
 * line here, and appears in the statistics under its name.
 */
#ifndef OBSERVE_COUNTERS_H
#define OBSERVE_COUNTERS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include <jansson.h>

/** X(IDENTIFIER, "name", "what it counts"). */
#define COUNTER_LIST(X)                                                        \
	X(RX_PACKETS, "rx_packets", "UDP packets received")                    \
	X(RX_BYTES, "rx_bytes", "payload bytes of those")                      \
	X(TX_PACKETS, "tx_packets", "RTP packets sent")                        \
	X(TX_BYTES, "tx_bytes", "payload bytes of those")

#define COUNTER_ENUM(id, name, help) COUNTER_##id,

enum counter_id { COUNTER_LIST(COUNTER_ENUM) COUNTER_COUNT };

/** One thread's counters. Zero is all zero. */
struct counters {
	alignas(64) atomic_uint_fast64_t value[COUNTER_COUNT];
};

/** Count @n events. The owner of @c only; a load and a store, both relaxed. */
static inline void counter_add(struct counters *c, enum counter_id id,
			       uint64_t n)
{
	uint64_t old =
		atomic_load_explicit(&c->value[id], memory_order_relaxed);

	atomic_store_explicit(&c->value[id], old + n, memory_order_relaxed);
}

/** The value so far. Any thread. */
static inline uint64_t counter_get(const struct counters *c, enum counter_id id)
{
	return atomic_load_explicit(&c->value[id], memory_order_relaxed);
}

/** The JSON name of @id, and what it counts. */
const char *counter_name(enum counter_id id);
const char *counter_help(enum counter_id id);

/**
 * {"rx_packets": n, ...}: sums over @n blocks; the caller owns it. NULL: no
 * memory. Any thread.
 */
json_t *counters_json(const struct counters *const *blocks, unsigned n);

#endif
