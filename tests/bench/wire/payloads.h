/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the calls of bench-load say: recorded speech, coded beforehand. All
 * calls walk through the same minutes, each from a place of its own.
 */
#ifndef TESTS_BENCH_WIRE_PAYLOADS_H
#define TESTS_BENCH_WIRE_PAYLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"
#include "cr/time.h"

/** What has to come back. */
enum payloads_expect {
	PAYLOADS_ANY,  /**< whatever                                         */
	PAYLOADS_SAME, /**< the same octets                                  */
	PAYLOADS_PCMA  /**< the same speech in PCMA; what is said is PCMU    */
};

struct payloads {
	uint8_t *data;
	unsigned count; /**< payloads                    */
	size_t bytes;	/**< of each                     */
	uint8_t pcma[256];
};

/** Code speech at @rate Hz with the PCM codec @codec ("pcmu", "pcma", "l16"),
 * @ptime to a payload. 0, or -errno with @e. */
int payloads_open(struct payloads *p, const char *codec, unsigned rate,
		  cr_ns ptime, uint64_t seed, struct cr_err *e);
void payloads_close(struct payloads *p);

/** What call @call says as its frame @frame. */
const uint8_t *payloads_of(const struct payloads *p, uint32_t call,
			   uint32_t frame);

/** Is @data[@bytes] what has to come back when @said was sent? */
bool payloads_right(const struct payloads *p, enum payloads_expect expect,
		    const uint8_t *said, const uint8_t *data, size_t bytes);

#endif
