/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading raw G.722 recordings (64 kbit/s, 16 kHz) through libavcodec.
 */
#ifndef SPEECH_G722_H
#define SPEECH_G722_H

#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"

/**
 * Decode @data[@size] into @pcm[2 * @size]. Returns 0, or -errno with @e
 * (libavcodec lacks G.722, no memory). Every octet sequence is valid G.722.
 */
int speech_g722_decode(const uint8_t *data, size_t size, int16_t *pcm,
		       struct cr_err *e);

#endif
