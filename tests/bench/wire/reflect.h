/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare reflector: what comes from an address goes back to it, with another
 * payload type. One thread.
 */
#ifndef TESTS_BENCH_WIRE_REFLECT_H
#define TESTS_BENCH_WIRE_REFLECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"
#include "cr/time.h"

/** Largest packet, bytes; a longer one is cut. */
#define REFLECT_BYTES 960u
/** Payload type of what goes back: PCMA. */
#define REFLECT_PT 8u

struct coding;

struct reflect {
	const int *fds;
	unsigned sockets;
	cr_ns wait; /**< how long packets may gather; 0: none waits */
	/** What each packet is put through meanwhile, its state by its SSRC; or
	 * NULL. What comes out is thrown away. */
	struct coding *coding;
	bool decode;
	unsigned states;
	/** The most packets that are taken before what was taken is sent. */
	unsigned batch;
	/** A signal came: set by its handler, which may only set this. */
	atomic_bool *stop;
	uint64_t in, out;
	uint64_t coded; /**< bytes that came out of the codec */
};

/** What is done for a packet: its payload type changes, its marker stays. */
void reflect_packet(struct reflect *r, uint8_t *packet, size_t bytes);

/**
 * Reflect until *r->stop. SIGTERM is blocked when these are called; they let it
 * through only while they wait for packets.
 *
 * reflect_mmsg(): one socket; recvmmsg(), then one sendmmsg(). After a turn it
 * waits for the next packet and then sleeps for r->wait, so that others come.
 *
 * reflect_uring(): any number of sockets; one io_uring, a multishot receive on
 * each with buffers that they share, the sends of all in one submission. With
 * r->wait it takes what has come by then, or a batch.
 *
 * 0, or -errno with @e.
 */
int reflect_mmsg(struct reflect *r, struct cr_err *e);
int reflect_uring(struct reflect *r, struct cr_err *e);

#endif
