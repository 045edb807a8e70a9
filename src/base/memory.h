/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory this process may still take, and the message for a person
 * when that is too little.
 *
 * Some libraries do not survive malloc() without success: usrsctp, opencore-amr
 * and vo-amrwbenc, speex among them. So there is a reserve that nothing new is
 * begun with (memory_check_reserve()), and before such a library is let
 * allocate it is seen that it could (memory_there()).
 *
 * Thread rule: any thread.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"

/** More than a codec's state, or the stack's for an association, takes, bytes:
 * also when malloc() has to ask the system for it. */
#define MEMORY_FOR_LIBRARY ((size_t)2 << 20)

/** The process's use: of memory, and of addresses, bytes. 0, or -errno: it
 * cannot be seen. */
int memory_used(uint64_t *resident, uint64_t *addresses);

/** Do the process's own limits (RLIMIT_AS, RLIMIT_DATA) leave @reserve bytes?
 * 0; or -ENOMEM with @e, which says which limit, and how to raise it; or what
 * cannot be seen. A file is read only where there is a limit. */
int memory_check_reserve(uint64_t reserve, struct cr_err *e);

/** Would malloc() give @bytes now? Then nothing is taken. Of @bytes up to
 * MEMORY_FOR_LIBRARY it asks the system only now and then. */
bool memory_there(size_t bytes);

/** Would jansson have what it takes for @bytes of JSON? Ask before it reads
 * them: 2.14 writes behind the token that it collects if that cannot grow. */
bool memory_for_json(size_t bytes);

/** Let malloc() keep memory that is given back for what comes, some of it ready
 * at any time, and have blocks up to MEMORY_FOR_LIBRARY from that; and keep a
 * descriptor to see by what is left, so that this needs none later. For a
 * program that serves, when it starts: before other threads, and before
 * anybody can take its descriptors. A child has to do it for itself. */
void memory_keep(void);

/** @size > 0 bytes, zeroed, aligned to a page. NULL: no memory. */
void *pages_map(size_t size);

/** Give @p of @size bytes back. NULL is fine. */
void pages_unmap(void *p, size_t size);

#endif
