/* SPDX-License-Identifier: MIT */
/* Lists of models: the user's, and those fetched from providers.  Inside the catalogue only. */
#ifndef TRIVET_PROVIDERS_MODEL_ROWS_H
#define TRIVET_PROVIDERS_MODEL_ROWS_H

#include "base/json.h"
#include "base/table.h"
#include "providers/provider.h"

enum given { /* which members of a row are known */
             GIVEN_NAME = 1,
             GIVEN_WINDOW = 2,
             GIVEN_OUTPUT = 4,
             GIVEN_IMAGES = 8,
             GIVEN_REASONS = 16,
             GIVEN_LEVELS = 32,
             GIVEN_PRICE_IN = 64,
             GIVEN_PRICE_OUT = 128,
             GIVEN_PRICE_CACHED = 256,
             GIVEN_DEFAULT = 512,
             GIVEN_PRIORITY = 1024,
             GIVEN_ABOUT = 2048,
             GIVEN_ROUTES = 4096,
             GIVEN_PRICE_CACHE_WRITE = 8192,
};

struct model_row {
    struct str provider; /* the part before the slash; model.provider is not set */
    struct model model;
    unsigned given;
};

struct model_rows {
    struct arena arena; /* of the strings */
    struct model_row *rows;
    size_t n, capacity;
    struct table by_slug; /* maps "provider/id" to the number of the last such row, from 1 */
};
#define MODEL_ROWS_INIT ((struct model_rows){0})
void model_rows_clear(struct model_rows *r);

/* A new row without values; strings are copied.  Valid until the next row is added. */
struct model_row *model_rows_add(struct model_rows *r, struct str provider, struct str id);
/* The last of that name, or NULL. */
const struct model_row *model_rows_find(const struct model_rows *r, struct str provider,
                                        struct str id);
/* Sets the routes of one model, if there is a row for it. */
void model_rows_set_routes(struct model_rows *r, struct str provider, struct str id,
                           struct str routes);
/* Overrides members of *m by those given in the row.  Strings are borrowed from the row. */
void model_row_apply(const struct model_row *row, enum model_source source, struct model *m);

/* Reads and writes the array "models" of the user's file and of a cached list.  Reading stops at
 * the first fault with ERR_INVALID that names the member; unknown members are one if is_strict. */
bool model_rows_read(struct model_rows *r, yyjson_val *models, bool is_strict, struct error *err);
void model_rows_put(const struct model_rows *r, struct jw *w);

/* live.c: parses the answers of providers.  ERR_BAD_REPLY unless the text is a list of models;
 * models that make no text, and those without a valid id, are left out. */
bool live_read_list(struct str provider, enum live_list kind, struct str text,
                    struct model_rows *ret, struct error *err);
/* Adds data of Ollama's /api/show or llama.cpp's /props; other text is ignored. */
void live_read_show(struct str text, struct model_row *row);
void live_read_props(struct str text, struct model_rows *rows);
/* OpenRouter's endpoints of all models: each row gets its routes.  False: not such a list. */
bool live_read_routes(struct str provider, struct str text, struct model_rows *rows);
/* catalogue_account.c: the routes that a model's `endpoints` name, sorted, in the arena. */
struct str *live_routes_of(yyjson_val *endpoints, struct arena *a, size_t *ret_n);

#endif
