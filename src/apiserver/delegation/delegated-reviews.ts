/** Extension servers know nobody themselves: they ask the cluster whose a token is, and what somebody may do. */
import { TokenReview } from '#api/authentication/v1/kinds.gen.ts'
import { SubjectAccessReview } from '#api/authorization/v1/kinds.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { TokenAuthenticator } from '#apiserver/authn/authenticator.ts'
import { cachedTokenAuthenticator } from '#apiserver/authn/cached-tokens.ts'
import type { ReviewWebhook } from '#apiserver/authn/webhook/review-webhook.ts'
import { tokenWebhookAuthenticator } from '#apiserver/authn/webhook/token-webhook.ts'
import { type Authorizer, allowed, noOpinion } from '#apiserver/authz/authorizer.ts'
import { authorizerChain, privilegedGroup } from '#apiserver/authz/chain.ts'
import { webhookAuthorizer } from '#apiserver/authz/webhook/webhook-authorizer.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'

export type DelegationSeams = { client: Client; clock: Clock; random: Random; logger: Logger }

/** As upstream's extension servers remember answers. */
const tokenTtlMs = 10_000
const accessTtlMs = 10_000

export function delegatedTokens({ client, clock, random }: DelegationSeams): TokenAuthenticator {
  const send: ReviewWebhook = async (review) =>
    (await client.create(TokenReview, review as KubernetesObject)) as unknown as Record<string, unknown>
  return cachedTokenAuthenticator(tokenWebhookAuthenticator(send, []), {
    clock,
    random,
    acceptedTtlMs: tokenTtlMs,
    unknownTtlMs: tokenTtlMs,
  })
}

/** Probes must work before anybody can be asked. */
const openPaths = ['/healthz', '/livez', '/readyz']

export function delegatedAuthorizer({ client, clock, logger }: DelegationSeams): Authorizer {
  const send: ReviewWebhook = async (review) =>
    (await client.create(SubjectAccessReview, review as never)) as unknown as Record<string, unknown>
  const probes: Authorizer = {
    authorize: ({ isResourceRequest, path }) => (!isResourceRequest && openPaths.includes(path) ? allowed : noOpinion),
  }
  const reviews = webhookAuthorizer({
    send,
    allowedTtlMs: accessTtlMs,
    refusedTtlMs: accessTtlMs,
    onError: 'noOpinion',
    clock,
    log: logger,
  })
  return authorizerChain([privilegedGroup('system:masters'), probes, reviews])
}
