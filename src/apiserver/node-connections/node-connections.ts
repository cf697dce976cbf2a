import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { notFound, unknownFailure } from '#api/meta/status-error.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { type Backend, inProcessBackend, socketBackend } from '#apiserver/node-connections/backend.ts'
import type { HttpClientOptions } from '#base/http-client.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { UpgradeClient } from '#base/upgrade-client.ts'

export type NodeConnectionsOptions = {
  /** Asked for when there is a node to look up: the server may still be in the making. */
  cluster(): Pick<ClusterView, 'getFresh'>
  /** What the server shows to kubelets; asked for anew when `forgetIdentity` was called. */
  /** Undefined: no certificate is shown. */
  identity(): { certificatePem: string; privateKeyPem: string } | undefined
  makeClient(options: HttpClientOptions): UpgradeClient
  settings: NodeConnectionSettings
}

export type NodeConnectionSettings = {
  /** Authorities the certificates of kubelets must come from. Absent: they are not verified, as upstream's are not unless asked for. */
  kubeletCertificateAuthority?: string | string[]
  /** The types of a node's addresses, the best one first. */
  kubeletPreferredAddressTypes?: readonly string[]
  /** Where the kubelet of a node on this machine listens, though the node's address is another; undefined for the others. */
  hostOf?(nodeName: string): string | undefined
  /** The authority that the certificates of those come from. */
  ownAuthority?: string
  /** Nodes in this process, which have no server that listens. Undefined for the others. */
  connectNode?(nodeName: string): ((exchange: HttpExchange) => void) | undefined
}

/** Addresses first: names of nodes often mean nothing outside the node, or its loopback address inside. */
const preferredAddressTypes: readonly string[] = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS']

const defaultPort = 10250

export type NodeConnection = {
  /** The node's own address, whichever way its agent is reached. Throws the refusal where it has none that can be used. */
  address(): string
  readonly port: number
  readonly backend: Backend
  /** The same agent, its certificate not verified. */
  readonly unverified: Backend
  /** It takes WebSockets, so that nobody has to translate for it. */
  readonly takesWebSockets: boolean
  /** It is in this process: its address is no matter of what may be reached. */
  readonly isInProcess: boolean
}

/** The server's way to kubelets. */
export class NodeConnections implements Disposable {
  readonly #options: NodeConnectionsOptions
  #clients: Record<'verified' | 'unverified' | 'ofOwn', UpgradeClient> | undefined
  #pods: UpgradeClient | undefined

  constructor(options: NodeConnectionsOptions) {
    this.#options = options
  }

  /** Throws the refusal that clients get when there is no such node, or none of its addresses can be used. */
  async connectionTo(nodeName: string): Promise<NodeConnection> {
    const { cluster, settings } = this.#options
    const node = await cluster().getFresh(Node, nodeName)
    if (node === undefined) throw notFound({ group: '', resource: 'nodes' }, nodeName)
    const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port || defaultPort
    const address = () => preferredAddress(node, settings.kubeletPreferredAddressTypes ?? preferredAddressTypes)
    const handle = settings.connectNode?.(nodeName)
    if (handle !== undefined) {
      const backend = inProcessBackend(handle, nodeName)
      return { address, port, backend, unverified: backend, takesWebSockets: true, isInProcess: true }
    }
    const own = settings.hostOf?.(nodeName)
    const { verified: strict, unverified, ofOwn } = this.#nodeClients()
    const verified = own === undefined ? strict : ofOwn
    const host = joinedHostPort(own ?? address(), String(port))
    return {
      address,
      port,
      backend: socketBackend(verified, 'https', host),
      unverified: socketBackend(unverified, 'https', host),
      takesWebSockets: node.status?.declaredFeatures?.includes('ExtendWebSocketsToKubelet') ?? false,
      isInProcess: own !== undefined,
    }
  }

  /** A pod, or another port of a node: nobody's identity is shown, and certificates are not looked at. */
  otherBackend(scheme: string, host: string): Backend {
    this.#pods ??= this.#options.makeClient({ insecureSkipVerify: true })
    return socketBackend(this.#pods, scheme === 'https' ? 'https' : 'http', host)
  }

  /** The certificate was renewed: connections from now on show the current one, open ones go on. */
  forgetIdentity(): void {
    this.#clients = undefined
  }

  [Symbol.dispose](): void {
    for (const client of Object.values(this.#clients ?? {})) client[Symbol.dispose]()
    this.#pods?.[Symbol.dispose]()
  }

  #nodeClients() {
    if (this.#clients === undefined) {
      const { identity, makeClient, settings } = this.#options
      const shown = identity()
      const own = shown === undefined ? {} : { cert: shown.certificatePem, key: shown.privateKeyPem }
      const { kubeletCertificateAuthority, ownAuthority } = settings
      const unverified = makeClient({ ...own, insecureSkipVerify: true })
      const trusting = (ca: string | string[] | undefined) => (ca === undefined ? unverified : makeClient({ ...own, ca }))
      const verified = trusting(kubeletCertificateAuthority)
      this.#clients = { unverified, verified, ofOwn: ownAuthority === undefined ? verified : trusting(ownAuthority) }
    }
    return this.#clients
  }
}

function preferredAddress({ status }: V1Node, types: readonly string[]): string {
  const addresses = status?.addresses ?? []
  for (const wanted of types) {
    const found = addresses.find(({ type }) => type === wanted)
    if (found !== undefined) return found.address
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ')
  throw unknownFailure(`no preferred addresses found; known addresses: [${known}]`)
}

export function joinedHostPort(host: string, port: string): string {
  const literal = host.includes(':') ? `[${host}]` : host
  return port === '' ? literal : `${literal}:${port}`
}
