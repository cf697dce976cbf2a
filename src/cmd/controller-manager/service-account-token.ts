import { ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import { parseTime } from '#api/meta/time.ts'
import type { Clock } from '#base/clock.ts'
import type { Client } from '#client/client.ts'

type TokenRequest = { status?: { token: string; expirationTimestamp: string } }

/** The Authorization header of a service account of kube-system; its token is asked for anew before it expires. */
export function serviceAccountToken(account: string, client: Client, clock: Clock): () => Promise<string> {
  let current: { token: string; renewMs: number } | undefined
  let asking: Promise<void> | undefined
  const ask = async () => {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } }
    const place = { namespace: 'kube-system', name: account }
    const { status } = await client.subresource<TokenRequest>('POST', ServiceAccount, place, 'token', body)
    if (status === undefined) throw new Error(`no token was given for the service account ${account}`)
    const nowMs = clock.now()
    current = { token: status.token, renewMs: nowMs + (parseTime(status.expirationTimestamp) - nowMs) * 0.8 }
  }
  return async () => {
    if (current === undefined || clock.now() > current.renewMs) {
      asking ??= ask().finally(() => {
        asking = undefined
      })
      await asking
    }
    return `Bearer ${current?.token}`
  }
}
