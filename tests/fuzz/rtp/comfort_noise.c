/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as comfort noise: what is accepted can be built again, and makes
 * noise of finite numbers. The input is packets: a length, then so many bytes.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "rtp/comfort_noise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one(struct comfort_noise_generator *g, const uint8_t *p, size_t n)
{
	struct comfort_noise noise, again;
	uint8_t buf[COMFORT_NOISE_BYTES_MAX];
	int16_t pcm[160];
	size_t bytes;

	if (comfort_noise_parse(p, n, &noise))
		return;
	CR_ASSERT(noise.order <= COMFORT_NOISE_ORDER_MAX);
	bytes = comfort_noise_build(buf, &noise);
	CR_ASSERT(bytes <= n && !memcmp(buf, p, bytes));
	CR_ASSERT(!comfort_noise_parse(buf, bytes, &again));
	CR_ASSERT(again.level == noise.level && again.order == noise.order);
	comfort_noise_set(g, &noise);
	comfort_noise_generate(g, pcm, 160);
	for (unsigned i = 0; i <= COMFORT_NOISE_ORDER_MAX; i++)
		CR_ASSERT(isfinite(g->state[i]));
	comfort_noise_measure(pcm, 160, noise.order, &again);
	CR_ASSERT(again.level <= COMFORT_NOISE_SILENT);
	CR_ASSERT(!comfort_noise_parse(buf, comfort_noise_build(buf, &again),
				       &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct comfort_noise_generator g;

	comfort_noise_start(&g, size);
	while (size) {
		size_t n = data[0] < size - 1 ? data[0] : size - 1;

		one(&g, data + 1, n);
		data += 1 + n;
		size -= 1 + n;
	}
	return 0;
}
