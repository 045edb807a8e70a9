/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody can do who may not connect to a control socket.
 */
#ifndef APP_CTL_DENIED_H
#define APP_CTL_DENIED_H

#include <stdbool.h>
#include <stddef.h>

/** May we not connect to the socket at @path, by its rights or those of its
 * folder? Then @way is the way out, a sentence's end. Looks at files; any
 * thread that no other asks for groups meanwhile. */
bool denied_by(const char *path, char *way, size_t size);

#endif
