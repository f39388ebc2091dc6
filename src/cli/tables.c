/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "dialects/acp/acp.h"
#include "dialects/kward/kward.h"
#include "dialects/loaf/loaf.h"
#include "dialects/scaiflux/scaiflux.h"
#include "providers/anthropic/anthropic.h"
#include "providers/gemini/gemini.h"
#include "providers/openai/openai.h"
#include "providers/rehearsal/rehearsal.h"
#include "providers/responses/responses.h"

const struct provider *const program_providers[] = {
    &provider_openai,    &provider_anthropic, &provider_openrouter, &provider_ollama,
    &provider_llamacpp,  &provider_lmstudio,  &provider_vllm,       &provider_rehearsal,
    &provider_responses, &provider_codex,     &provider_gemini,     &provider_antigravity,
};
const size_t program_n_providers = ARRAY_LEN(program_providers);

const struct dialect *const program_dialects[] = {&dialect_loaf, &dialect_scaiflux, &dialect_kward,
                                                  &dialect_acp};
const size_t program_n_dialects = ARRAY_LEN(program_dialects);

const struct dialect *program_dialect(struct str name)
{
    for (size_t i = 0; i < program_n_dialects; i++)
        if (str_is(name, program_dialects[i]->name))
            return program_dialects[i];
    return NULL;
}
