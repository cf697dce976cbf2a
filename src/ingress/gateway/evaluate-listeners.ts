import { X509Certificate } from 'node:crypto'
import { defined } from '#base/defined.ts'
import type { WantedListener } from '#ingress/controller/listeners.ts'
import type { CertificateReference } from '#ingress/controller/source.ts'
import type { CertificatePair } from '#ingress/data-plane/certificate-table.ts'
import { type ConditionState, no, yes } from '#ingress/gateway/conditions.ts'
import { type GatewayObjects, isGranted } from '#ingress/gateway/gateway-objects.ts'
import { type Gateway, type GatewayListener, gatewayGroup } from '#ingress/gateway/kinds.ts'

export type EvaluatedListener = {
  readonly listener: GatewayListener
  /** Its name in the routing table. */
  readonly key: string
  readonly isSecure: boolean
  readonly port: number
  /** Where it alone listens; undefined: at all addresses of the proxy. */
  readonly host?: string
  readonly kinds: readonly string[]
  readonly certificates: readonly CertificateReference[]
  /** Of the listener alone; whether it can be reached is added later. */
  readonly conditionStates: readonly ConditionState[]
  /** Routes that are attached are served. */
  readonly isUsable: boolean
}

const httpPort = 80
const httpsPort = 443

/** Those on the usual ports are the Ingress controller's too, unless they have an address of their own. */
function keyOf({ port }: GatewayListener, isSecure: boolean, own: string | undefined): string {
  const place = own === undefined ? '' : `@${own}`
  if (isSecure) return `${port === httpsPort ? 'https' : `https:${port}`}${place}`
  return `${port === httpPort ? 'http' : `http:${port}`}${place}`
}

/**
 * Ports that the machine gives to connections of its own: one that is taken away from it would fail now and then, for whoever it was.
 * By Linux' default.
 */
const ephemeralPorts = { first: 32_768, last: 60_999 }
/** Of all Gateways together, beside the usual ones: each is open at every address and in every thread. */
const mostPorts = 64

/** Who has which port by now. */
export type PortUses = {
  /** One port of the shared addresses has one protocol, the first comer's. */
  readonly shared: Map<number, string>
  /** Those beside the usual ones, with their address. */
  readonly extra: Set<string>
}

function isGivenOut({ port }: GatewayListener, own: string | undefined, { extra }: PortUses): boolean {
  if (port === httpPort || port === httpsPort) return true
  if (port >= ephemeralPorts.first && port <= ephemeralPorts.last) return false
  const place = `${own ?? ''} ${port}`
  if (extra.size < mostPorts) extra.add(place)
  return extra.has(place)
}

export function evaluateListeners(
  gateway: Gateway,
  order: string,
  world: GatewayObjects,
  uses: PortUses,
  /** The Gateway's own address; undefined where it shares those of others. */
  own?: string,
): EvaluatedListener[] {
  const { listeners } = gateway.spec
  // Nobody else has the ports of an address of its own.
  const portUses = own === undefined ? uses.shared : new Map<number, string>()
  return listeners.map((listener) => {
    const isSecure = listener.protocol === 'HTTPS'
    const isKnown = isSecure || listener.protocol === 'HTTP'
    const port = listener.port === httpPort ? world.httpPort : listener.port === httpsPort ? world.httpsPort : listener.port
    const clash = listeners.find((other) => other !== listener && other.port === listener.port && other.protocol !== listener.protocol)
    const isFree = isKnown && clash === undefined
    const isOpened = isFree && isGivenOut(listener, own, uses)
    if (isOpened && !portUses.has(port)) portUses.set(port, listener.protocol)
    const user = isOpened ? portUses.get(port) : undefined

    const key = keyOf(listener, isSecure, own)
    const accepted = acceptance(listener, isKnown, clash, user)
    const conflicted =
      clash === undefined ? no('Conflicted', 'NoConflicts', '') : yes('Conflicted', 'ProtocolConflict', `port ${listener.port}`)
    const { kinds, problem: kindProblem } = kindsOf(listener, world)
    const { certificates, problem: certificateProblem } = isSecure
      ? certificatesOf(gateway, listener, key, order, world)
      : { certificates: [], problem: undefined }
    return {
      ...{ listener, key, isSecure, port, kinds, certificates, ...defined({ host: own }) },
      conditionStates: [accepted, conflicted, kindProblem ?? certificateProblem ?? yes('ResolvedRefs')],
      isUsable: accepted.status === 'True' && certificateProblem === undefined,
    }
  })
}

export const wantedOf = ({ key, port, isSecure, listener, host }: EvaluatedListener): WantedListener => ({
  ...{ listener: key, port, shownPort: listener.port, isSecure, ...defined({ host }) },
})

function acceptance(
  listener: GatewayListener,
  isKnown: boolean,
  clash: GatewayListener | undefined,
  user: string | undefined,
): ConditionState {
  const { protocol, port } = listener
  if (!isKnown) return no('Accepted', 'UnsupportedProtocol', `protocol ${protocol} is not supported: HTTP and HTTPS are`)
  if (clash !== undefined) return no('Accepted', 'ProtocolConflict', `port ${port} is wanted for ${clash.protocol} too`)
  if (user === undefined)
    return no(
      'Accepted',
      'PortUnavailable',
      `port ${port} is not given out: ${mostPorts} ports in all are, and none that the machine uses itself`,
    )
  if (user !== protocol) return no('Accepted', 'PortUnavailable', `port ${port} is in use for ${user}`)
  return yes('Accepted')
}

/** The kinds of routes that it takes. */
function kindsOf({ allowedRoutes, protocol }: GatewayListener, world: GatewayObjects): { kinds: string[]; problem?: ConditionState } {
  const known = ['HTTP', 'HTTPS'].includes(protocol) ? ['HTTPRoute', ...(world.grpcRoutes === undefined ? [] : ['GRPCRoute'])] : []
  const asked = allowedRoutes?.kinds ?? []
  if (asked.length === 0) return { kinds: known }
  const isGood = ({ group = gatewayGroup, kind }: { group?: string; kind: string }) => group === gatewayGroup && known.includes(kind)
  const kinds = [...new Set(asked.filter(isGood).map(({ kind }) => kind))]
  const bad = asked.filter((each) => !isGood(each)).map(({ kind }) => kind)
  if (bad.length === 0) return { kinds }
  return { kinds, problem: no('ResolvedRefs', 'InvalidRouteKinds', `these kinds of routes are not supported: ${bad.join(', ')}`) }
}

function certificatesOf(
  gateway: Gateway,
  { tls, hostname = '' }: GatewayListener,
  listener: string,
  order: string,
  world: GatewayObjects,
): { certificates: CertificateReference[]; problem?: ConditionState | undefined } {
  const own = gateway.metadata.namespace ?? ''
  const references = tls?.certificateRefs ?? []
  if (references.length === 0)
    return { certificates: [], problem: no('ResolvedRefs', 'InvalidCertificateRef', 'there is no certificateRef') }
  const certificates: CertificateReference[] = []
  let problem: ConditionState | undefined
  for (const { group = '', kind = 'Secret', name, namespace = own } of references) {
    const secret = `${namespace}/${name}`
    if (group !== '' || kind !== 'Secret') {
      problem ??= no('ResolvedRefs', 'InvalidCertificateRef', `a certificate of kind ${kind} is not supported`)
      continue
    }
    const from = { group: gatewayGroup, kind: 'Gateway', namespace: own }
    if (!isGranted(from, { group, kind, namespace, name }, world.grants)) {
      problem ??= no('ResolvedRefs', 'RefNotPermitted', `no ReferenceGrant lets this Gateway refer to secret ${secret}`)
      continue
    }
    const pair = world.certificate(secret)
    const names = pair && namesIn(pair)
    if (names === undefined) {
      problem ??= no('ResolvedRefs', 'InvalidCertificateRef', `secret ${secret} does not hold a certificate`)
      continue
    }
    const hosts = hostname === '' ? ['', ...names] : [hostname.toLowerCase()]
    for (const host of hosts) certificates.push({ listener, host, secret, order })
  }
  return { certificates, problem }
}

const knownNames = new WeakMap<CertificatePair, string[]>()
/** Authorities put a hundred into one; each is a host of the proxy. */
const mostNames = 256

function namesIn(pair: CertificatePair): string[] | undefined {
  const known = knownNames.get(pair)
  if (known !== undefined) return known
  try {
    const { subjectAltName = '' } = new X509Certificate(pair.cert)
    const names = subjectAltName.split(', ').flatMap((text) => (text.startsWith('DNS:') ? [text.slice(4).toLowerCase()] : []))
    knownNames.set(pair, names.slice(0, mostNames))
    return knownNames.get(pair)
  } catch {
    return undefined
  }
}
