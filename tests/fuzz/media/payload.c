/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a payload of any format: never read outside them, and what was
 * unpacked packs into a payload that unpacks to the same frames.
 *
 * Input: octet 0: kind (low 3 bits and bit 5), octet-align (bit 3), samples set
 * (bit 4); octets 1, 2: mode set, samples, or bytes of a frame and of a SID;
 * then the payload.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "media/payload.h"

#define ROOM (PAYLOAD_FRAMES_MAX * CR_FRAME_MAX)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct cr_frame frames[PAYLOAD_FRAMES_MAX + 1];
static uint8_t packed[ROOM];

static struct codec_use config(const uint8_t *data)
{
	unsigned value = (unsigned)data[1] << 8 | data[2];
	struct codec_use cfg = {
		.amr.octet_align = data[0] & 8,
	};
	unsigned kind = (data[0] & 7u) | (data[0] >> 2 & 8u);

	cfg.kind = (enum payload_kind)(kind % PAYLOAD_NKINDS);
	cfg.frame_bytes = data[1] ? data[1] : 1;
	cfg.sid_bytes = data[2] % cfg.frame_bytes;
	if (data[0] & 16)
		cfg.cfg.samples = value;
	else
		cfg.amr.mode_set = (uint16_t)value;
	return cfg;
}

static unsigned unpack(struct payload_iter *it)
{
	unsigned n = 0;

	while (payload_next(it, &frames[n])) {
		CR_ASSERT(n < PAYLOAD_FRAMES_MAX);
		CR_ASSERT(frames[n].bytes <= CR_FRAME_MAX);
		n++;
	}
	CR_ASSERT(n == it->info.nframes && n > 0);
	return n;
}

static void check_same(const struct codec_use *cfg, unsigned n, int bytes,
		       uint8_t cmr)
{
	struct payload_iter it;
	struct cr_frame again;

	CR_ASSERT(payload_open(cfg, packed, (size_t)bytes, &it) == PAYLOAD_OK);
	CR_ASSERT(it.info.nframes == n && it.info.cmr == cmr);
	for (unsigned i = 0; i < n; i++) {
		CR_ASSERT(payload_next(&it, &again));
		CR_ASSERT(again.kind == frames[i].kind);
		CR_ASSERT(again.mode == frames[i].mode);
		CR_ASSERT(again.bytes == frames[i].bytes);
		CR_ASSERT(!memcmp(again.data, frames[i].data, again.bytes));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct payload_iter it;
	struct codec_use cfg;
	uint8_t *exact;
	int bytes, reason;
	unsigned n;

	if (size < 3)
		return 0;
	cfg = config(data);
	/* A copy of its own, so that one octet too far is seen. */
	exact = malloc(size - 3 ? size - 3 : 1);
	CR_ASSERT(exact);
	memcpy(exact, data + 3, size - 3);
	reason = payload_open(&cfg, exact, size - 3, &it);
	if (reason) {
		CR_ASSERT(reason < 0 && -reason < (int)PAYLOAD_NREASONS);
		free(exact);
		return 0;
	}
	n = unpack(&it);
	bytes = payload_pack(&cfg, it.info.cmr, frames, n, packed, ROOM);
	CR_ASSERT(bytes == (int)(size - 3));
	check_same(&cfg, n, bytes, it.info.cmr);
	free(exact);
	return 0;
}
