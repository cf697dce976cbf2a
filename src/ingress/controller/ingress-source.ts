import type { V1Ingress, V1IngressBackend } from '#api/networking/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { Steps } from '#base/steps.ts'
import { type BackendReference, backendKey, type CertificateReference, orderOf, type Source } from '#ingress/controller/source.ts'
import type { BackendProtocol } from '#ingress/data-plane/backend.ts'
import type { PathMatch, Route, Site } from '#ingress/routing/route.ts'

const prefix = 'ingress.typernetes.io/'
const protocols: Readonly<Record<string, BackendProtocol>> = { HTTP: 'http', HTTPS: 'https', H2C: 'h2c', GRPC: 'h2c', GRPCS: 'h2' }
const padded = (number: number): string => String(number).padStart(4, '0')

const sources = new WeakMap<V1Ingress, Source>()

/** What an Ingress asks of the proxy, found out once. Backends that are not services lead nowhere. */
export function* ingressSource(ingress: V1Ingress): Steps<Source> {
  const known = sources.get(ingress)
  if (known !== undefined) return known
  const made = yield* sourceOf(ingress)
  sources.set(ingress, made)
  return made
}

function* sourceOf(ingress: V1Ingress): Steps<Source> {
  const { metadata, spec } = ingress
  const namespace = metadata.namespace ?? ''
  const name = `Ingress ${namespace}/${metadata.name}`
  const order = orderOf(ingress)
  const protocol = protocols[metadata.annotations?.[`${prefix}backend-protocol`]?.toUpperCase() ?? '']
  const timeouts = timeoutsOf(metadata.annotations?.[`${prefix}request-timeout`])
  const backends = new Map<string, BackendReference>()
  const weighted = (backend: V1IngressBackend | undefined) => {
    const { name: service = '', port } = backend?.service ?? {}
    if (service === '') return [{ backend: '', weight: 1 }]
    const reference = { namespace, service, port: port?.number || port?.name || '', protocol }
    backends.set(backendKey(reference), reference)
    return [{ backend: backendKey(reference), weight: 1 }]
  }
  const shared = { name, ...defined({ timeouts }) }

  const routes = new Map<string, Route[]>()
  const add = (host: string, route: Route) => {
    const list = routes.get(host)
    if (list === undefined) routes.set(host, [route])
    else list.push(route)
  }
  for (const [ruleIndex, { host = '', http }] of (spec.rules ?? []).entries()) {
    for (const [pathIndex, { path = '', pathType, backend }] of (http?.paths ?? []).entries()) {
      const place = `${order} ${padded(ruleIndex)} ${padded(pathIndex)}`
      add(host.toLowerCase(), { ...shared, path: matchOf(path, pathType), order: place, backends: weighted(backend) })
      yield
    }
  }
  if (spec.defaultBackend !== undefined) {
    const last = {
      ...shared,
      order,
      isFallback: true,
      path: { type: 'Prefix', value: '/' } as const,
      backends: weighted(spec.defaultBackend),
    }
    // What no rule matches: paths of the hosts that are named here, and hosts that nobody names.
    for (const host of new Set([...routes.keys(), ''])) add(host, last)
  }

  const secureHosts = new Set((spec.tls ?? []).flatMap(({ hosts }) => hosts ?? []))
  const redirects = metadata.annotations?.[`${prefix}ssl-redirect`] === 'true'
  const sites: Site[] = []
  for (const [host, list] of routes) {
    const site = { listenerHost: '', host, wildcard: 'label' } as const
    sites.push({ ...site, listener: 'https', routes: list })
    const isRedirected = redirects && (secureHosts.has(host) || (host === '' && secureHosts.size > 0))
    const plain = isRedirected ? list.map((route) => ({ ...route, backends: [], redirect: { scheme: 'https', status: 308 } })) : list
    sites.push({ ...site, listener: 'http', routes: plain })
    yield
  }
  return { sites, backends: [...backends.values()], certificates: certificatesOf(ingress, order) }
}

/** What the type leaves to us is a prefix by elements, as most expect. */
function matchOf(path: string, pathType: string): PathMatch {
  return { type: pathType === 'Exact' ? 'Exact' : 'Prefix', value: path === '' ? '/' : path }
}

/** Without hosts a certificate is for those of the rules, and for any where a rule names none. */
function certificatesOf({ metadata, spec }: V1Ingress, order: string): CertificateReference[] {
  return (spec.tls ?? []).flatMap(({ hosts, secretName = '' }) => {
    if (secretName === '') return []
    const secret = `${metadata.namespace}/${secretName}`
    const named = hosts?.length ? hosts : (spec.rules ?? []).map(({ host = '' }) => host)
    return [...new Set(named.length > 0 ? named : [''])].map((host) => ({ listener: 'https', host: host.toLowerCase(), secret, order }))
  })
}

/** `30s`, `500ms`, `2m`, or seconds. */
function timeoutsOf(text: string | undefined): { requestMs: number } | undefined {
  const [, digits, unit = 's'] = /^(\d{1,6})(ms|s|m|h)?$/.exec(text ?? '') ?? []
  if (digits === undefined) return undefined
  const factor = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit as 'ms' | 's' | 'm' | 'h']
  return { requestMs: Number(digits) * factor }
}

/** A user who has mended some of it hears of the rest. */
const mostComplaints = 20

/** What a user should hear of: references that lead nowhere. */
export function ingressComplaints(
  { backends, certificates, sites }: Source,
  knows: {
    service(namespace: string, name: string): { hasPort(port: string | number): boolean } | undefined
    hasCertificate(secret: string): boolean
  },
): { reason: string; message: string }[] {
  const found: { reason: string; message: string }[] = []
  for (const { namespace, service, port } of backends) {
    if (found.length >= mostComplaints) return found
    const known = knows.service(namespace, service)
    if (known === undefined) found.push({ reason: 'BackendNotFound', message: `service "${namespace}/${service}" not found` })
    else if (!known.hasPort(port))
      found.push({ reason: 'BackendNotFound', message: `service "${namespace}/${service}" has no port ${port}` })
  }
  for (const secret of new Set(certificates.map((each) => each.secret))) {
    if (found.length >= mostComplaints) return found
    if (knows.hasCertificate(secret)) continue
    found.push({
      reason: 'CertificateNotFound',
      message: `secret "${secret}" does not hold a certificate (type kubernetes.io/tls, tls.crt and tls.key, 64 KiB at most)`,
    })
  }
  if (
    sites.some(({ routes }) =>
      routes.some(({ redirect, backends: list }) => redirect === undefined && list.some(({ backend }) => backend === '')),
    )
  )
    found.push({ reason: 'UnsupportedBackend', message: 'a backend is no service: requests for it are answered with 500' })
  return found
}
