/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of options as text in memory.
 */
#ifndef CONFIG_TEXT_H
#define CONFIG_TEXT_H

#include <stddef.h>

#include "cr/error.h"

/** Bytes that such a file may have. */
#define CONFIG_BYTES ((size_t)1 << 20)

/**
 * Read the file @path into *@text (the caller's; free()), which has @size bytes
 * and a NUL behind them, and maybe others among them. 0; -ENOENT: there is
 * none; or -errno: it cannot be read, is no regular file, or is larger than
 * CONFIG_BYTES; with @e, which does not name it. Waits for the disk, and for
 * nothing else: not for who may write to a FIFO.
 */
int config_text_read(const char *path, char **text, size_t *size,
		     struct cr_err *e);

#endif
