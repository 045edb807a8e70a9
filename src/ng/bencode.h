/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bencode, the encoding of BitTorrent's dictionaries (BEP 3), to and from JSON
 * values in memory.
 *
 *   d7:command4:pinge   {"command": "ping"}
 *
 * Strings are any octets: JSON values that are made here need not be UTF-8.
 * Keys need not be sorted, as proxies do not sort them. Pure but for memory.
 */
#ifndef NG_BENCODE_H
#define NG_BENCODE_H

#include <jansson.h>
#include <stddef.h>

#include "cr/error.h"

/** Dictionaries and lists within each other; more are refused. */
#define BENCODE_DEPTH_MAX 16u

/** The value of all the @bytes at @text, or NULL with @e: no bencode, deeper
 * than BENCODE_DEPTH_MAX, a key twice, an octet 0 in a key, more behind the
 * value, or out of memory. */
json_t *bencode_read(const char *text, size_t bytes, struct cr_err *e);

/** Write @value to @text[@size]. Returns its length, -ENOSPC: it is longer, or
 * -EINVAL: bencode has no such value (null, true, reals). */
long bencode_write(const json_t *value, char *text, size_t size);

#endif
