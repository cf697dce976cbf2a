import { type Backend, socketBackend } from '#apiserver/node-connections/backend.ts'
import type { HttpClientOptions } from '#base/http-client.ts'
import type { UpgradeClient } from '#base/upgrade-client.ts'

export type PeerClientsOptions = {
  makeClient(options: HttpClientOptions): UpgradeClient
  /** Of the certificates that API servers serve with. */
  ca(): string
  /** Shown to the other server, which believes the headers of whoever holds it. */
  identity(): { certificatePem: string; privateKeyPem: string } | undefined
}

/** Connections to the other API servers of the cluster, made when the first is needed. */
export class PeerClients implements Disposable {
  readonly #options: PeerClientsOptions
  #client: UpgradeClient | undefined

  constructor(options: PeerClientsOptions) {
    this.#options = options
  }

  readonly backendOf = (host: string): Backend => {
    this.#client ??= this.#made()
    return socketBackend(this.#client, 'https', host)
  }

  /** Requests that run go on; later ones show the current certificate. */
  forget(): void {
    this.#client = undefined
  }

  [Symbol.dispose](): void {
    this.#client?.[Symbol.dispose]()
  }

  #made(): UpgradeClient {
    const { makeClient, ca, identity } = this.#options
    const own = identity()
    return makeClient({ ca: ca(), ...(own && { cert: own.certificatePem, key: own.privateKeyPem }) })
  }
}
