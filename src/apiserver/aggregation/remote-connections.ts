/** Connections to the servers behind APIServices: with this server's own certificate, and on behalf of the user who asks. */
import type { RemoteApi } from '#apiserver/aggregation/remote-api.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import { type Backend, inProcessBackend, socketBackend } from '#apiserver/node-connections/backend.ts'
import type { ServiceReference } from '#apiserver/webhooks/service-routes.ts'
import type { HttpClientOptions } from '#base/http-client.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { UpgradeClient } from '#base/upgrade-client.ts'

export type RemoteConnectionsOptions = {
  makeClient(options: HttpClientOptions): UpgradeClient
  /** Shown to the other server, which believes the headers of whoever holds it. */
  identity(): { certificatePem: string; privateKeyPem: string } | undefined
  /** `host:port` of a pod of the service. */
  hostOf(service: ServiceReference): Promise<string>
  /** The server of an APIService that answers in this process, for as long as the service that it names does not exist. */
  inProcess?(api: RemoteApi): ((exchange: HttpExchange) => void) | undefined
}

export class RemoteConnections implements Disposable {
  readonly #options: RemoteConnectionsOptions
  readonly #clients = new Map<string, UpgradeClient>()

  constructor(options: RemoteConnectionsOptions) {
    this.#options = options
  }

  /** Throws where the service has nobody who could answer. */
  async backendOf(api: RemoteApi): Promise<Backend> {
    const { service, connection } = api
    const handle = this.#options.inProcess?.(api)
    if (handle !== undefined) return inProcessBackend(handle, `${service.name}.${service.namespace}.svc`)
    const host = await this.#options.hostOf(service)
    return socketBackend(this.#clientFor(connection), 'https', host)
  }

  isInProcess(api: RemoteApi): boolean {
    return this.#options.inProcess?.(api) !== undefined
  }

  /** Requests that run go on; later ones show the current certificate, to whom is current. */
  forget(): void {
    this.#clients.clear()
  }

  /** Connections to whom no APIService names any more are not kept. */
  retain(apis: Iterable<RemoteApi>): void {
    const used = new Set([...apis].map(({ connection }) => JSON.stringify(connection)))
    for (const key of this.#clients.keys()) if (!used.has(key)) this.#clients.delete(key)
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients.values()) client[Symbol.dispose]()
    this.#clients.clear()
  }

  #clientFor(connection: HttpClientOptions): UpgradeClient {
    return this.#clients.getOrInsertComputed(JSON.stringify(connection), () => {
      const identity = this.#options.identity()
      const own = identity === undefined ? {} : { cert: identity.certificatePem, key: identity.privateKeyPem }
      return this.#options.makeClient({ ...connection, ...own })
    })
  }
}

/** Who asks, in the headers that extension servers are told to believe. */
export function userHeaders({ name, uid, groups, extra }: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'x-remote-user': encoded(name) }
  if (uid) headers['x-remote-uid'] = encoded(uid)
  if (groups.length > 0) headers['x-remote-group'] = groups.map(encoded)
  for (const [key, values] of Object.entries(extra)) headers[`x-remote-extra-${escapedKey(key)}`] = values.map(encoded)
  return headers
}

/** Go sends the bytes of UTF-8 as they are; Node takes a character for each byte. */
const encoded = (value: string): string => Buffer.from(value, 'utf8').toString('latin1')

/** Whatever may not stand in the name of a header goes as `%xx`. */
function escapedKey(key: string): string {
  return encoded(key).replace(
    /[^!#$&'*+\-.^_`|~0-9A-Za-z]/g,
    (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`,
  )
}
