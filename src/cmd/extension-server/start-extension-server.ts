/** An extension API server: kinds of its own, a store of its own, and the cluster's users. Put it behind the cluster with an APIService. */
import { Scheme } from '#api/scheme.ts'
import type { AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { anonymousAuthenticator } from '#apiserver/authn/anonymous.ts'
import { withAuthenticatedGroup } from '#apiserver/authn/authenticated-group.ts'
import type { Authenticator } from '#apiserver/authn/authenticator.ts'
import { bearerTokenAuthenticator } from '#apiserver/authn/bearer-token.ts'
import { requestHeaderAuthenticator } from '#apiserver/authn/request-header.ts'
import { otherwise, unionAuthenticator } from '#apiserver/authn/union.ts'
import { x509Authenticator } from '#apiserver/authn/x509.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { type ClusterTrust, followClusterTrust } from '#apiserver/delegation/cluster-trust.ts'
import { type DelegationSeams, delegatedAuthorizer, delegatedTokens } from '#apiserver/delegation/delegated-reviews.ts'
import { overWebSocket } from '#apiserver/http/websocket-exchange.ts'
import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import { ApiServer } from '#apiserver/server.ts'
import { type Clock, systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { listenHttp } from '#base/http-server.ts'
import { type Logger, silentLogger } from '#base/log.ts'
import { thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { type Random, systemRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import type { ServedKind } from '#cmd/extension-server/define-served-kind.ts'
import { ExtensionAdmission } from '#cmd/extension-server/extension-admission.ts'
import { kubernetesVersionInfo } from '#cmd/version.ts'
import type { Store } from '#store/store.ts'

export type { AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
export type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

export type ExtensionServerOptions = {
  kinds: readonly ServedKind[]
  /** Of the cluster it stands behind: whom to believe, what they may do, which namespaces there are. */
  client: Client
  /** The service it is reached by; the certificate is for its name. */
  service: { namespace: string; name: string }
  host?: string
  /** Any free one where 0. */
  port?: number
  /** PEM. Absent: a certificate of an authority of its own, made at each start. */
  certificate?: { certificate: string; key: string; authority: string }
  /** Keeps objects there. Absent: in memory, and gone at the end. */
  dataDir?: string
  /** What changes and validates writes, in this order. `objects` are the server's own. */
  admission?(context: { objects: ClusterView; client: Client; clock: Clock }): readonly AdmissionPlugin[]
  logger?: Logger
  clock?: Clock
  random?: Random
}

export type ExtensionServer = AsyncDisposable & {
  readonly port: number
  /** For `caBundle` of the APIService: in base64. */
  readonly caBundle: string
  /** What it holds. */
  readonly objects: ClusterView
  stop(): Promise<void>
}

/** Resolves when it serves. */
export async function startExtensionServer(options: ExtensionServerOptions): Promise<ExtensionServer> {
  const { kinds, client, clock = systemClock, random = systemRandom, logger = silentLogger } = options
  const seams: DelegationSeams = { client, clock, random, logger }
  await using opened = new AsyncDisposableStack()
  const users = delegatedUsers(seams)
  opened.use(await followClusterTrust(seams, users.believe))
  const store = await openStore(options.dataDir, clock, logger)
  opened.defer(() => store.close())
  const identity = options.certificate ?? ownCertificate(options.service, clock, random)
  const metrics = new Metrics()
  const admission = opened.use(new ExtensionAdmission(seams, metrics))
  const server: ApiServer = new ApiServer({
    store,
    clock,
    random,
    logger,
    metrics,
    scheme: new Scheme(kinds.flatMap(({ definitions }) => definitions)),
    isEnabled: () => false,
    authenticator: () => users.authenticator,
    authorizer: () => delegatedAuthorizer(seams),
    admissionPlugins: (objects, authorizer) =>
      admission.plugins(objects, authorizer, options.admission?.({ objects, client, clock }) ?? []),
    version: kubernetesVersionInfo(),
    serverAddress: () => '',
  })
  opened.defer(() => server.stop())
  await Promise.all([server.start(), admission.start()])
  for (const stage of ['namespaces', 'objects', 'service', 'identity'] as const) server.boot.done(stage)
  const tls = () => ({ cert: identity.certificate, key: identity.key, clientCa: [...users.authorities()] })
  const listener = await listenHttp({
    host: options.host ?? '0.0.0.0',
    port: options.port ?? 0,
    tls: tls(),
    onExchange: (exchange) => server.handler.handle(overWebSocket(exchange)),
  })
  users.onChange(() => listener.setTls(tls()))
  opened.defer(() => listener.close())
  opened.defer(() => server.drain())
  const running = opened.move()
  const stop = () => running.disposeAsync()
  const caBundle = Buffer.from(identity.authority).toString('base64')
  return { port: listener.port, caBundle, objects: server.cluster, stop, [Symbol.asyncDispose]: stop }
}

/** Those the cluster knows: by the headers of its proxy, by certificate, by token; and nobody in particular. */
function delegatedUsers(seams: DelegationSeams) {
  const tokens = delegatedTokens(seams)
  let trust: ClusterTrust | undefined
  let current: Authenticator = anonymousAuthenticator()
  let changed = () => {}
  return {
    authenticator: { authenticate: (credentials) => current.authenticate(credentials) } satisfies Authenticator,
    authorities: () => trust?.authorities ?? [],
    onChange(callback: () => void) {
      changed = callback
    },
    believe(next: ClusterTrust) {
      trust = next
      const known = unionAuthenticator([
        requestHeaderAuthenticator({ ...next.proxies, clock: seams.clock }),
        x509Authenticator(() => next.clients, seams.clock),
        bearerTokenAuthenticator(tokens, []),
      ])
      current = otherwise(withAuthenticatedGroup(known), anonymousAuthenticator())
      changed()
    },
  }
}

function ownCertificate({ namespace, name }: ExtensionServerOptions['service'], clock: Clock, random: Random) {
  const { authority } = newAuthority('ca', clock.now(), random)
  const host = `${name}.${namespace}.svc`
  const { certificatePem, privateKeyPem } = issueIdentity(
    {
      name: 'serving',
      signer: 'ca',
      subject: { commonName: host },
      usages: ['serverAuth'],
      subjectAltNames: { dnsNames: [host, `${name}.${namespace}`, 'localhost'], ipAddresses: ['127.0.0.1'] },
    },
    authority,
    clock.now(),
    random,
  )
  return { certificate: certificatePem, key: privateKeyPem, authority: authority.certificatePem }
}

async function openStore(dataDir: string | undefined, clock: Clock, logger: Logger): Promise<Store> {
  if (dataDir === undefined) {
    const { MemoryStore } = await import('#store/memory/memory-store.ts')
    return new MemoryStore({ clock })
  }
  await nodeFiles.makeDirectory(dataDir)
  const { openSqliteStore } = await import('#store/sqlite/sqlite-store.ts')
  return openSqliteStore({ clock, logger, dataDir, processId: thisProcess.pid })
}
