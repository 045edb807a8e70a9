/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a proxy's script, which some proxies hand over as they are
 * ("rtpp-flags"): "replace-origin ICE=remove codec=[mask=[all] offer=[AMR]]".
 * Words are flags, or keys with a value; values in brackets are lists, or
 * dictionaries where they have keys.
 *
 * Pure but for memory.
 */
#ifndef NG_RTPP_FLAGS_H
#define NG_RTPP_FLAGS_H

#include <jansson.h>

#include "cr/error.h"

/** Deeper brackets are refused. */
#define RTPP_FLAGS_DEPTH_MAX 4u

/** Add to @body, a request, what the words of @text are: flags to its list
 * "flags", which may be missing, and keys; members to lists that are there, in
 * place of other values. But "via-branch", which names in such a text what the
 * proxy is to look for, counts only where nothing else says it. 0, or with @e:
 * -EINVAL (brackets), -ENOMEM. */
int rtpp_flags_read(json_t *body, const char *text, struct cr_err *e);

#endif
