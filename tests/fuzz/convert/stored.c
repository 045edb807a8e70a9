/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any octets as an audio file of a conversion: the first says of what kind, and
 * whether it had that size when it was opened, the others are the file. What is
 * read are payloads that a pipeline takes, one to every 20 ms, and every
 * refusal says why.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "convert/audio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct reader *r, size_t size)
{
	uint8_t payload[AUDIO_PAYLOAD_MAX];
	struct codec_use side;
	struct cr_err e = { "" };
	struct payload_iter it;
	uint64_t at = r->at;
	int n;

	audio_side(&side, &r->audio, 0);
	while ((n = reader_next(r, payload, &e)) > 0) {
		CR_ASSERT((size_t)n <= sizeof(payload));
		CR_ASSERT(r->at > at && r->at <= size);
		CR_ASSERT(!payload_open(&side, payload, (size_t)n, &it));
		CR_ASSERT(it.info.nframes == 1);
		at = r->at;
	}
	CR_ASSERT(!n == !e.text[0]);
}

/* What the file's size is said to be: it may grow or shrink meanwhile. */
static size_t claim(unsigned how, size_t size)
{
	if (how == 1)
		return size / 2;
	return how == 2 ? 2 * size : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t claimed;
	struct cr_err e = { "" };
	struct reader r;
	int fd;

	if (!size)
		return 0;
	fd = memfd_create("stored", MFD_CLOEXEC);
	CR_ASSERT(fd >= 0);
	CR_ASSERT(write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
	claimed = claim(data[0] / 3 % 3, size - 1);
	if (reader_open(&r, fd, (enum audio_kind)(data[0] % 3), claimed, &e))
		CR_ASSERT(e.text[0]);
	else
		read_all(&r, claimed < size - 1 ? claimed : size - 1);
	(void)close(fd);
	return 0;
}
