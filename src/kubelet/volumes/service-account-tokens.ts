import type { V1TokenRequest } from '#api/authentication/v1/types.gen.ts'
import { ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod, V1ServiceAccountTokenProjection } from '#api/core/v1/types.gen.ts'
import { formatTime, parseTime } from '#api/meta/time.ts'
import { smallest } from '#base/append.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'

export type ServiceAccountTokensOptions = { client: Client; clock: Clock; random: Random; logger: Logger }

type Kept = { token: string; rotateAtMs: number; expiresAtMs: number }

const longestUseMs = 24 * 3_600_000
const jitterMs = 10_000
const retryMs = 60_000

/** Tokens for pods, asked for once and kept until a fifth of their life is left, or for a day. */
export class ServiceAccountTokens {
  readonly #options: ServiceAccountTokensOptions
  /** By pod, then by what was asked for. */
  readonly #kept = new Map<string, Map<string, Kept>>()

  constructor(options: ServiceAccountTokensOptions) {
    this.#options = options
  }

  async get(pod: V1Pod, projection: V1ServiceAccountTokenProjection): Promise<string> {
    return (await this.#get(pod, projection)).token
  }

  /** For those who are told when to ask for the next one. */
  async getWithExpiry(pod: V1Pod, projection: V1ServiceAccountTokenProjection): Promise<{ token: string; expirationTimestamp: string }> {
    const { token, expiresAtMs } = await this.#get(pod, projection)
    return { token, expirationTimestamp: formatTime(expiresAtMs) }
  }

  /** An old token that is still good is better than none. */
  async #get(pod: V1Pod, { audience = '', expirationSeconds }: V1ServiceAccountTokenProjection): Promise<Kept> {
    const { uid = '' } = pod.metadata
    const account = pod.spec.serviceAccountName ?? ''
    const key = JSON.stringify([account, audience, expirationSeconds])
    const { clock, logger } = this.#options
    const kept = this.#kept.get(uid)?.get(key)
    if (kept !== undefined && clock.now() < kept.rotateAtMs) return kept
    try {
      const fresh = await this.#ask(pod, account, audience, expirationSeconds)
      const ofPod = this.#kept.get(uid) ?? new Map<string, Kept>()
      this.#kept.set(uid, ofPod.set(key, fresh))
      return fresh
    } catch (error) {
      const why = errorMessage(error)
      if (kept === undefined) throw new Error(`failed to fetch token: ${why}`, { cause: error })
      kept.rotateAtMs = clock.now() + retryMs
      if (clock.now() > kept.expiresAtMs) throw new Error(`token ${key} expired and refresh failed: ${why}`, { cause: error })
      logger.warn('failed to refresh service account token volume', { pod: uid, error: why })
      return kept
    }
  }

  /** When the first of the pod's tokens is to be renewed. */
  nextRotationMs(podUid: string): number | undefined {
    const times = [...(this.#kept.get(podUid)?.values() ?? [])].map(({ rotateAtMs }) => rotateAtMs)
    return times.length === 0 ? undefined : smallest(Number.POSITIVE_INFINITY, times)
  }

  forget(podUid: string): void {
    this.#kept.delete(podUid)
  }

  async #ask(pod: V1Pod, account: string, audience: string, expirationSeconds: number | undefined): Promise<Kept> {
    const { client, random } = this.#options
    const { namespace = '', name = '', uid = '' } = pod.metadata
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        audiences: audience === '' ? [] : [audience],
        ...defined({ expirationSeconds }),
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid },
      },
    }
    const place = { namespace, name: account }
    // The verb answers another kind than its parent's.
    const { spec, status } = await client.subresource<V1TokenRequest>('POST', ServiceAccount as never, place, 'token', body)
    const expiresAtMs = parseTime(status?.expirationTimestamp ?? '')
    const lifeMs = (spec.expirationSeconds ?? 3600) * 1000
    const rotateAtMs = Math.min(expiresAtMs - lifeMs + longestUseMs, expiresAtMs - lifeMs / 5) - random.float() * jitterMs
    return { token: status?.token ?? '', rotateAtMs, expiresAtMs }
  }
}
