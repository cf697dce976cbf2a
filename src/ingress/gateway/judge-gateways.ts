/** What becomes of Gateways and their routes: what the proxy is to do, and what their statuses say. Pure. */
import type { WantedListener } from '#ingress/controller/listeners.ts'
import { type BackendReference, orderOf, type Source } from '#ingress/controller/source.ts'
import { attachRoute } from '#ingress/gateway/attach-route.ts'
import { conditionsOf, no, type Verdict, yes } from '#ingress/gateway/conditions.ts'
import type { GatewayWorld } from '#ingress/gateway/gateway-world.ts'
import { type JudgedListener, judgeListeners, wantedOf } from '#ingress/gateway/judge-listeners.ts'
import {
  type Gateway,
  type GatewayClass,
  type GrpcRouteRule,
  gatewayGroup,
  type HttpRouteRule,
  type ParentReference,
  type RouteOf,
  type RouteParentStatus,
} from '#ingress/gateway/kinds.ts'
import { type RouteKind, routesOfRules } from '#ingress/gateway/route-rules.ts'
import { type Site, siteKey } from '#ingress/routing/route.ts'

/** `spec.controllerName` of classes that are ours. */
export const gatewayController = 'typernetes.io/gateway-controller'

export type AnyRoute = RouteOf<HttpRouteRule | GrpcRouteRule>

export type GatewayJudgement = {
  readonly classes: readonly { object: GatewayClass; status: NonNullable<GatewayClass['status']> }[]
  readonly gateways: readonly { object: Gateway; status: NonNullable<Gateway['status']>; source: Source }[]
  readonly routes: readonly { kind: RouteKind; object: AnyRoute; status: { parents: RouteParentStatus[] } }[]
  readonly listeners: readonly WantedListener[]
}

/** By the names of the Gateway API; sorted, as it asks for. */
const supportedFeatures = [
  ...['GRPCRoute', 'Gateway', 'GatewayAddressEmpty', 'GatewayHTTPListenerIsolation', 'GatewayPort8080', 'HTTPRoute'],
  ...['HTTPRouteBackendProtocolH2C', 'HTTPRouteBackendProtocolWebSocket', 'HTTPRouteBackendRequestHeaderModification'],
  ...['HTTPRouteBackendTimeout', 'HTTPRouteHostRewrite', 'HTTPRouteMethodMatching', 'HTTPRouteParentRefPort'],
  ...['HTTPRoutePathRedirect', 'HTTPRoutePathRewrite', 'HTTPRoutePortRedirect', 'HTTPRouteQueryParamMatching'],
  ...['HTTPRouteRequestMirror', 'HTTPRouteRequestMultipleMirrors', 'HTTPRouteRequestPercentageMirror', 'HTTPRouteRequestTimeout'],
  ...['HTTPRouteResponseHeaderModification', 'HTTPRouteSchemeRedirect', 'ReferenceGrant'],
].map((name) => ({ name }))

type Judged = {
  gateway: Gateway
  order: string
  listeners: JudgedListener[]
  attached: Map<JudgedListener, number>
  sites: Map<string, Site>
  backends: BackendReference[]
}

export function judgeGateways(world: GatewayWorld): GatewayJudgement {
  const classes = world.classes.filter(({ spec }) => spec.controllerName === gatewayController)
  const names = new Set(classes.map(({ metadata }) => metadata.name))
  // The Ingress controller's ports are what they are.
  const portUses = new Map([
    [world.httpPort, 'HTTP'],
    [world.httpsPort, 'HTTPS'],
  ])
  const gateways = world.gateways
    .filter(({ metadata, spec }) => names.has(spec.gatewayClassName) && metadata.deletionTimestamp === undefined)
    .map((gateway) => ({ gateway, order: orderOf(gateway) }))
    .sort((one, other) => (one.order < other.order ? -1 : 1))
    .map(({ gateway, order }): Judged => {
      const listeners = judgeListeners(gateway, order, world, portUses)
      return { gateway, order, listeners, attached: new Map(), sites: new Map(), backends: [] }
    })
  const byName = new Map(gateways.map((judged) => [`${judged.gateway.metadata.namespace}/${judged.gateway.metadata.name}`, judged]))
  const routes = [
    ...world.httpRoutes.map((object) => judgeRoute('HTTPRoute', object, byName, world)),
    ...(world.grpcRoutes ?? []).map((object) => judgeRoute('GRPCRoute', object, byName, world)),
  ]
  return {
    classes: classes.map((object) => ({
      object,
      status: {
        conditions: conditionsOf([yes('Accepted')], object.status?.conditions, object.metadata.generation, world.now),
        supportedFeatures,
      },
    })),
    gateways: gateways.map((judged) => ({ object: judged.gateway, status: statusOf(judged, world), source: sourceOf(judged) })),
    routes: routes.flatMap((route) => route ?? []),
    listeners: gateways.flatMap(({ listeners }) => listeners.filter(({ isUsable }) => isUsable).map(wantedOf)),
  }
}

function judgeRoute(
  kind: RouteKind,
  object: AnyRoute,
  gateways: ReadonlyMap<string, Judged>,
  world: GatewayWorld,
): GatewayJudgement['routes'][number] | undefined {
  const before = object.status?.parents ?? []
  const others = before.filter(({ controllerName }) => controllerName !== gatewayController)
  const order = orderOf(object)
  const rules = routesOfRules(kind, object, order, world)
  const parents: RouteParentStatus[] = []
  for (const reference of object.spec.parentRefs ?? []) {
    const { group = gatewayGroup, kind: target = 'Gateway', namespace = object.metadata.namespace, name } = reference
    const judged = group === gatewayGroup && target === 'Gateway' ? gateways.get(`${namespace}/${name}`) : undefined
    // Somebody else's Gateway is somebody else's business.
    if (judged === undefined) continue
    const { attachments, verdict } = attachRoute(kind, object, reference, judged.gateway, judged.listeners, world)
    for (const { judged: listener, hosts } of attachments) {
      judged.attached.set(listener, (judged.attached.get(listener) ?? 0) + 1)
      if (!listener.isUsable) continue
      for (const host of hosts) {
        const site: Site = {
          ...{ listener: listener.key, listenerHost: (listener.listener.hostname ?? '').toLowerCase(), host, wildcard: 'labels' },
          routes: rules.routes,
        }
        const known = judged.sites.get(siteKey(site))
        judged.sites.set(siteKey(site), known === undefined ? site : { ...known, routes: [...known.routes, ...site.routes] })
      }
      judged.backends.push(...rules.backends)
    }
    const old = before.find((each) => each.controllerName === gatewayController && isSameParent(each.parentRef, reference))
    const resolved: Verdict = rules.problem ?? yes('ResolvedRefs', 'ResolvedRefs', 'All references are resolved')
    const conditions = conditionsOf([verdict, resolved], old?.conditions, object.metadata.generation, world.now)
    parents.push({ parentRef: reference, controllerName: gatewayController, conditions })
  }
  // Nothing is said of a route that was never ours.
  if (parents.length === 0 && others.length === before.length) return undefined
  return { kind, object, status: { parents: [...others, ...parents] } }
}

const isSameParent = (one: ParentReference, other: ParentReference): boolean =>
  one.name === other.name && one.namespace === other.namespace && one.sectionName === other.sectionName && one.port === other.port

function sourceOf({ listeners, sites, backends }: Judged): Source {
  // What is for the host of a listener is not another one's, though the listener has no route for it.
  for (const { isUsable, key, listener } of listeners) {
    if (!isUsable || !listener.hostname) continue
    const host = listener.hostname.toLowerCase()
    const site: Site = { listener: key, listenerHost: host, host, wildcard: 'labels', routes: [] }
    if (!sites.has(siteKey(site))) sites.set(siteKey(site), site)
  }
  return { sites: [...sites.values()], backends, certificates: listeners.flatMap(({ certificates }) => certificates) }
}

function statusOf({ gateway, listeners, attached }: Judged, world: GatewayWorld): NonNullable<Gateway['status']> {
  const { generation } = gateway.metadata
  const before = gateway.status
  const { addresses, problem } = addressesOf(gateway, world)
  const states = listeners.map((judged) => {
    const { listener, key, kinds, verdicts, isUsable } = judged
    const trouble = isUsable ? world.problemOf(key) : undefined
    const programmed = !isUsable
      ? no('Programmed', 'Invalid', 'the listener is not valid')
      : trouble !== undefined
        ? no('Programmed', 'Invalid', trouble)
        : world.isOpen(key)
          ? yes('Programmed')
          : no('Programmed', 'Pending', 'the port is about to be opened')
    const old = before?.listeners?.find(({ name }) => name === listener.name)
    return {
      isValid: verdicts.every(({ type, status }) => status === (type === 'Conflicted' ? 'False' : 'True')),
      isProgrammed: programmed.status === 'True',
      status: {
        name: listener.name,
        supportedKinds: kinds.map((kind) => ({ group: gatewayGroup, kind })),
        attachedRoutes: attached.get(judged) ?? 0,
        conditions: conditionsOf([...verdicts, programmed], old?.conditions, generation, world.now),
      },
    }
  })
  const accepted =
    problem?.type === 'Accepted'
      ? problem
      : states.every(({ isValid }) => isValid)
        ? yes('Accepted')
        : {
            ...yes('Accepted', 'ListenersNotValid', 'some listeners are not valid'),
            ...(states.some(({ isValid }) => isValid) ? {} : { status: 'False' as const }),
          }
  const programmed =
    problem?.type === 'Programmed'
      ? problem
      : accepted.status === 'False'
        ? no('Programmed', 'Invalid', 'the Gateway is not accepted')
        : states.some(({ isProgrammed }) => isProgrammed)
          ? yes('Programmed')
          : no('Programmed', 'Pending', 'no listener can be reached yet')
  return {
    addresses: addresses.map((value) => ({ type: 'IPAddress', value })),
    conditions: conditionsOf([accepted, programmed], before?.conditions, generation, world.now),
    listeners: states.map(({ status }) => status),
  }
}

/** Addresses may be asked for, of those that the proxy has. */
function addressesOf({ spec }: Gateway, { addresses }: GatewayWorld): { addresses: readonly string[]; problem?: Verdict } {
  const asked = spec.addresses ?? []
  const foreign = asked.find(({ type = 'IPAddress' }) => type !== 'IPAddress')
  if (foreign !== undefined)
    return { addresses: [], problem: no('Accepted', 'UnsupportedAddress', `addresses of type ${foreign.type} are not supported`) }
  const values = asked.flatMap(({ value }) => (value ? [value] : []))
  const unusable = values.filter((value) => !addresses.includes(value))
  if (unusable.length > 0)
    return { addresses: [], problem: no('Programmed', 'AddressNotUsable', `not an address of this proxy: ${unusable.join(', ')}`) }
  return { addresses: values.length > 0 ? values : addresses }
}
