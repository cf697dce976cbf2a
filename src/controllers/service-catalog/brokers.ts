/** How brokers are reached, and with which secrets. */

import { Secret } from '#api/core/v1/kinds.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import { defined } from '#base/defined.ts'
import type { HttpClient, HttpClientOptions } from '#base/http-client.ts'
import type { Client } from '#client/client.ts'
import type { ReconcileContext } from '#controllers/runtime/define-controller.ts'
import { BrokerClient, BrokerTrouble } from '#controllers/service-catalog/broker-client.ts'
import type { ClusterServiceBroker } from '#controllers/service-catalog/definitions.ts'

export type OpenHttp = (options: HttpClientOptions) => HttpClient

export type AskingSeams = Pick<ReconcileContext, 'client' | 'clock'> & { openHttp: OpenHttp }

const timeoutMs = 60_000
/** How long to wait before asking how far an operation is, unless the broker says. */
export const pollMs = 5000

/** Asks the broker, with connections that end with the question. */
export async function askBroker<T>(
  { client, clock, openHttp }: AskingSeams,
  broker: ClusterServiceBroker,
  ask: (broker: BrokerClient) => Promise<T>,
): Promise<T> {
  const { url, caBundle, insecureSkipTLSVerify = false } = broker.spec
  const ca = caBundle === undefined ? {} : { ca: Buffer.from(caBundle, 'base64').toString('utf8') }
  using http = openHttp({ ...ca, insecureSkipVerify: insecureSkipTLSVerify })
  const authorization = await authorizationOf(client, broker)
  const isOver = new AbortController()
  using _ = clock.after(timeoutMs, () => isOver.abort())
  const asked = ask(new BrokerClient({ url, http, signal: isOver.signal, ...defined({ authorization }) }))
  return await asked.catch((error: unknown) => {
    if (!isOver.signal.aborted) throw error
    throw new BrokerTrouble(`the broker has not answered within ${timeoutMs / 1000} seconds`, true)
  })
}

async function authorizationOf(client: Client, { spec }: ClusterServiceBroker): Promise<string | undefined> {
  const { basic, bearer } = spec.authInfo ?? {}
  const reference = (basic ?? bearer)?.secretRef
  if (reference === undefined) return undefined
  const { data = {} } = await client.get(Secret, reference.namespace, reference.name)
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8')
  if (basic === undefined) return `Bearer ${text('token')}`
  return `Basic ${Buffer.from(`${text('username')}:${text('password')}`).toString('base64')}`
}

type WithParameters = {
  metadata: { namespace?: string }
  spec: { parameters?: Record<string, unknown>; parametersFrom?: { secretKeyRef: { name: string; key: string } }[] }
}

/** Those that are written out, and those of secrets, which hold JSON each. */
export async function parametersOf(client: Client, { metadata, spec }: WithParameters): Promise<object | undefined> {
  if (spec.parameters === undefined && spec.parametersFrom === undefined) return undefined
  let all: Record<string, unknown> = { ...spec.parameters }
  for (const { secretKeyRef } of spec.parametersFrom ?? []) {
    const secret = await client.get(Secret, metadata.namespace ?? '', secretKeyRef.name).catch((error: unknown) => {
      if (isNotFound(error)) throw new Error(`the secret ${secretKeyRef.name} with parameters is not there`)
      throw error
    })
    all = { ...all, ...(JSON.parse(Buffer.from(secret.data?.[secretKeyRef.key] ?? '', 'base64').toString('utf8')) as object) }
  }
  return all
}
