import { reviewWebhook } from '#apiserver/authn/webhook/review-webhook.ts'
import { readWebhookKubeconfig } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'
import type { WebhookConfiguration } from '#apiserver/authz/authorization-configuration.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import { webhookAuthorizer } from '#apiserver/authz/webhook/webhook-authorizer.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { HttpClient, HttpClientOptions } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'

export type WebhookSeams = {
  files: Files
  http: (options: HttpClientOptions) => HttpClient
  clock: Clock
  random: Random
  log: Logger
}

/** The authorizer that a configuration describes, with its connections. */
export async function webhookAuthorizerFrom(
  configuration: WebhookConfiguration,
  { files, http, clock, random, log }: WebhookSeams,
): Promise<Authorizer & Disposable> {
  const target = await readWebhookKubeconfig(files, configuration.kubeconfigFile)
  const client = http(target.connection)
  const send = reviewWebhook({ target, http: client, clock, random, timeoutMs: configuration.timeoutMs })
  const { version, allowedTtlMs, refusedTtlMs, onError, conditions } = configuration
  const authorizer = webhookAuthorizer({
    send,
    version,
    allowedTtlMs,
    refusedTtlMs,
    onError,
    clock,
    log,
    ...defined({ conditions }),
  })
  return { ...authorizer, [Symbol.dispose]: () => client[Symbol.dispose]() }
}
