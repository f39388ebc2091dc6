/* SPDX-License-Identifier: MIT */
/* Pictures that a user names by path. */
#ifndef TRIVET_TERMINAL_PICTURE_H
#define TRIVET_TERMINAL_PICTURE_H

#include "base/arena.h"
#include "base/err.h"
#include "chat/message.h"

/* Reads a PNG, JPEG, GIF or WebP file, known by its first bytes; everything lies in the arena.
 * ERR_INVALID when it is none, ERR_LIMIT beyond LIMIT_IMAGE_BYTES. */
bool picture_read(struct arena *a, struct str path, struct block *ret, struct error *err);

#endif
