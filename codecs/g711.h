/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample of ITU-T G.711. Linear values are 16 bits wide: 14-bit (u-law) or
 * 13-bit (A-law) values of the recommendation, shifted up. All pure.
 */
#ifndef CODECS_G711_H
#define CODECS_G711_H

#include <stdint.h>

uint8_t ulaw_encode(int16_t linear);
int16_t ulaw_decode(uint8_t code);
uint8_t alaw_encode(int16_t linear);
int16_t alaw_decode(uint8_t code);

#endif
