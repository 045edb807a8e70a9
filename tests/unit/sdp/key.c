/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At the end of a program libsofia deletes a key of thread-specific data: one
 * that it has made, and nobody else's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "sdp/sdp.h"

enum { KEYS = 1024 };

static bool made[KEYS];

int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	int (*real)(pthread_key_t *, void (*)(void *)) = NULL;
	int err;

	*(void **)&real = dlsym(RTLD_NEXT, "pthread_key_create");
	err = real(key, destructor);
	if (!err)
		made[*key % KEYS] = true;
	return err;
}

/* Also when main() has returned. */
int pthread_key_delete(pthread_key_t key)
{
	static const char text[] = "a key was deleted that nobody has made\n";
	int (*real)(pthread_key_t) = NULL;

	if (!made[key % KEYS]) {
		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
		_exit(1);
	}
	made[key % KEYS] = false;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_key_delete");
	return real(key);
}

int main(void)
{
	static const char text[] = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\n"
				   "t=0 0\r\nm=audio 4000 RTP/AVP 0\r\n";
	struct cr_err e;
	struct sdp *s;

	if (sdp_read(&s, text, strlen(text), &e))
		return 2;
	sdp_free(s);
	return 0;
}
