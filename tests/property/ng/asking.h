/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random requests of NG, most of them nearly right: a few calls, tags and
 * branches in any order, descriptions of what phones have, flags; and each part
 * may be something else altogether.
 */
#ifndef TESTS_PROPERTY_NG_ASKING_H
#define TESTS_PROPERTY_NG_ASKING_H

#include <jansson.h>
#include <stdint.h>

enum { ASKING_CALLS = 4 };

/** The id of call @i. */
const char *asking_call(unsigned i);

/** A request. The caller's. */
json_t *asking_request(uint64_t *seed);

#endif
