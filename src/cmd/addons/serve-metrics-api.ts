/** metrics.k8s.io from a process of its own: behind a service that leads to this machine, for the API server and nobody else. */
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import { Service } from '#api/core/v1/kinds.gen.ts'
import { EndpointSlice } from '#api/discovery/v1/kinds.gen.ts'
import { serviceNameLabel } from '#api/discovery/v1/service-name.ts'
import { ignoreNotFound } from '#api/meta/server-response.ts'
import { ClusterRole } from '#api/rbac/v1/kinds.gen.ts'
import { builtInAnnotations, isBuiltIn } from '#apiserver/aggregation/built-in-api-services.ts'
import { requestHeaderAuthenticator } from '#apiserver/authn/request-header.ts'
import { type ClusterTrust, followClusterTrust } from '#apiserver/delegation/cluster-trust.ts'
import { issueIdentity, newAuthority } from '#apiserver/pki/authority.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { type HttpExchange, listenHttp } from '#base/http-server.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { metricsReaders } from '#cmd/up/metrics-server.ts'
import { apiServiceName, readerLabels } from '#metrics-server/keep-api-services.ts'
import { metricsApi, metricsGroup, metricsVersion } from '#metrics-server/metrics-api.ts'
import { UsageCollector } from '#metrics-server/usage-collector.ts'

const place = { namespace: 'kube-system', name: 'metrics-server' }
const apiService = apiServiceName({ group: metricsGroup, version: metricsVersion })
const retryMs = 1000
const apply = { fieldManager: 'typernetes-addons', force: true }

export async function serveMetricsApi(
  stage: Stage,
  { client, host, port }: { client: Client; host: string; port: number },
  { clock, random, logger }: { clock: Clock; random: Random; logger: Logger },
): Promise<void> {
  const usage = stage.use(new UsageCollector({ client, clock, logger }))
  const answer = metricsApi({ client, usage, clock })
  const { authority, certificate } = servingPair(clock, random)
  let believe = (_: HttpExchange): boolean => false
  let setAuthorities = (_: readonly string[]) => {}
  let authorities: readonly string[] = []
  const onTrust = (trust: ClusterTrust) => {
    const proxies = requestHeaderAuthenticator({ ...trust.proxies, clock })
    believe = (exchange) => isOfProxy(exchange, proxies)
    authorities = trust.authorities
    setAuthorities(authorities)
  }
  stage.use(await followClusterTrust({ client, clock, random, logger }, onTrust))
  const tls = () => ({ ...certificate, clientCa: [...authorities] })
  const listener = await listenHttp({
    ...{ host, port, tls: tls() },
    // The API server has asked who it is and whether they may: only what comes by way of it is answered.
    onExchange: (exchange) =>
      believe(exchange) ? answer(exchange) : exchange.respond(401, { 'content-type': 'text/plain' }, 'Unauthorized\n'),
  })
  setAuthorities = () => listener.setTls(tls())
  stage.defer(() => listener.close())
  const at = { host, port: listener.port, authorityPem: authority }
  for (let isPublished = false; !isPublished && !stage.signal.aborted; ) {
    try {
      await publishMetricsApi(client, at)
      isPublished = true
    } catch (error) {
      logger.warn('failed to create APIService, retrying', { apiService, error: errorMessage(error), retryMs })
      await clock.sleep(retryMs, stage.signal).catch(() => undefined)
    }
  }
}

function isOfProxy(exchange: HttpExchange, proxies: ReturnType<typeof requestHeaderAuthenticator>): boolean {
  const { headers, rawHeaders } = exchange
  const { remoteAddress, clientCertificate } = exchange.connection
  try {
    return proxies.authenticate({ headers, rawHeaders, path: exchange.target, remoteAddress, clientCertificate }) !== undefined
  } catch {
    return false
  }
}

/** What somebody else has put in its place stays. */
export async function publishMetricsApi(
  client: Client,
  { host, port, authorityPem }: { host: string; port: number; authorityPem: string },
): Promise<void> {
  const present = await client.get(APIService, '', apiService).catch(ignoreNotFound)
  if (present !== undefined && !isOurs(present)) return
  const labels = { 'k8s-app': place.name }
  await client.apply(ClusterRole, { metadata: { name: metricsReaders.name, labels: readerLabels }, rules: metricsReaders.rules }, apply)
  const annotations = { ...builtInAnnotations }
  await client.apply(
    Service,
    { metadata: { ...place, labels, annotations }, spec: { ports: [{ name: 'https', port: 443, protocol: 'TCP' }] } },
    apply,
  )
  const slice = { 'endpointslice.kubernetes.io/managed-by': 'typernetes.addons', [serviceNameLabel]: place.name }
  await client.apply(
    EndpointSlice,
    {
      metadata: { ...place, labels: { ...labels, ...slice } },
      addressType: host.includes(':') ? 'IPv6' : 'IPv4',
      endpoints: [{ addresses: [host], conditions: { ready: true } }],
      ports: [{ name: 'https', protocol: 'TCP', port }],
    },
    apply,
  )
  const spec = {
    ...{ group: metricsGroup, version: metricsVersion, groupPriorityMinimum: 100, versionPriority: 100 },
    // One of a control plane in one process, which answers by itself, is not checked.
    ...{ insecureSkipTLSVerify: false, caBundle: Buffer.from(authorityPem).toString('base64'), service: { ...place, port: 443 } },
  }
  await client.apply(APIService, { metadata: { name: apiService, labels, annotations }, spec } as V1APIService, apply)
}

/** Versions before this one left no mark of their own. */
const isOurs = ({ metadata }: V1APIService): boolean =>
  isBuiltIn({ metadata }) || metadata.managedFields?.some(({ manager }) => manager === apply.fieldManager) === true

/** Of an authority that is made at each start, and told to the cluster. */
function servingPair(clock: Clock, random: Random): { authority: string; certificate: { cert: string; key: string } } {
  const { authority } = newAuthority('ca', clock.now(), random)
  const host = `${place.name}.${place.namespace}.svc`
  const identity = { name: 'serving', signer: 'ca' as const, subject: { commonName: host }, usages: ['serverAuth' as const] }
  const issued = issueIdentity({ ...identity, subjectAltNames: { dnsNames: [host], ipAddresses: [] } }, authority, clock.now(), random)
  return { authority: authority.certificatePem, certificate: { cert: issued.certificatePem, key: issued.privateKeyPem } }
}
