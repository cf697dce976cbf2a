/** What becomes of Gateways and their routes: what the proxy is to do, and what their statuses say. Pure. */
import { defined } from '#base/defined.ts'
import type { Steps } from '#base/steps.ts'
import type { WantedListener } from '#ingress/controller/listeners.ts'
import { type BackendReference, orderOf, type Source } from '#ingress/controller/source.ts'
import { attachRoute } from '#ingress/gateway/attach-route.ts'
import { type ConditionState, conditionsOf, no, yes } from '#ingress/gateway/conditions.ts'
import { type EvaluatedListener, evaluateListeners, type PortUses, wantedOf } from '#ingress/gateway/evaluate-listeners.ts'
import type { GatewayObjects } from '#ingress/gateway/gateway-objects.ts'
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
import { ownAddresses } from '#ingress/gateway/own-addresses.ts'
import { type RouteKind, routesOfRules } from '#ingress/gateway/route-rules.ts'
import { type Route, type Site, siteKey } from '#ingress/routing/route.ts'

/** `spec.controllerName` of classes that are ours. */
export const gatewayController = 'typernetes.io/gateway-controller'

export type AnyRoute = RouteOf<HttpRouteRule | GrpcRouteRule>

export type GatewayEvaluation = {
  readonly classes: readonly { object: GatewayClass; status: NonNullable<GatewayClass['status']> }[]
  readonly gateways: readonly { object: Gateway; status: NonNullable<Gateway['status']>; source: Source }[]
  readonly routes: readonly { kind: RouteKind; object: AnyRoute; status: { parents: RouteParentStatus[] } }[]
  readonly listeners: readonly WantedListener[]
}

/** By the names of the Gateway API; sorted, as it asks for. */
const supportedFeatures = [
  ...[
    'GRPCRoute',
    'GRPCRouteNamedRouteRule',
    'Gateway',
    'GatewayAddressEmpty',
    'GatewayHTTPListenerIsolation',
    'GatewayPort8080',
    'HTTPRoute',
  ],
  ...['HTTPRoute303RedirectStatusCode', 'HTTPRoute307RedirectStatusCode', 'HTTPRoute308RedirectStatusCode'],
  ...['HTTPRouteBackendProtocolH2C', 'HTTPRouteBackendProtocolWebSocket', 'HTTPRouteBackendRequestHeaderModification'],
  ...['HTTPRouteBackendTimeout', 'HTTPRouteHostRewrite', 'HTTPRouteMethodMatching', 'HTTPRouteNamedRouteRule', 'HTTPRouteParentRefPort'],
  ...['HTTPRoutePathRedirect', 'HTTPRoutePathRewrite', 'HTTPRoutePortRedirect', 'HTTPRouteQueryParamMatching'],
  ...['HTTPRouteRequestMirror', 'HTTPRouteRequestMultipleMirrors', 'HTTPRouteRequestPercentageMirror', 'HTTPRouteRequestTimeout'],
  ...['HTTPRouteResponseHeaderModification', 'HTTPRouteSchemeRedirect', 'ReferenceGrant'],
].map((name) => ({ name }))

type Evaluated = {
  gateway: Gateway
  order: string
  listeners: EvaluatedListener[]
  /** Its own; undefined where it shares those of the proxy. */
  address: string | undefined
  attached: Map<EvaluatedListener, number>
  sites: Map<string, Site & { readonly routes: Route[] }>
  backends: BackendReference[]
}

/** Of one route object: its matches at each host of each listener. Every thread has as many. */
const mostPlaces = 16_384

export function* evaluateGateways(world: GatewayObjects): Steps<GatewayEvaluation> {
  const classes = world.classes.filter(({ spec }) => spec.controllerName === gatewayController)
  const names = new Set(classes.map(({ metadata }) => metadata.name))
  // The Ingress controller's ports are what they are.
  const usual = [
    [world.httpPort, 'HTTP'],
    [world.httpsPort, 'HTTPS'],
  ] as const
  const portUses: PortUses = { shared: new Map(usual), extra: new Set() }
  const inOrder = world.gateways
    .filter(({ metadata, spec }) => names.has(spec.gatewayClassName) && metadata.deletionTimestamp === undefined)
    .map((gateway) => ({ gateway, order: orderOf(gateway) }))
    .sort((one, other) => (one.order < other.order ? -1 : 1))
  const addresses = ownAddresses(
    inOrder.map(({ gateway }) => gateway),
    world.spareAddresses ?? [],
  )
  const gateways: Evaluated[] = []
  for (const { gateway, order } of inOrder) {
    const address = addresses.get(gateway)
    const listeners = evaluateListeners(gateway, order, world, portUses, address)
    gateways.push({ gateway, order, listeners, address, attached: new Map(), sites: new Map(), backends: [] })
    yield
  }
  const byName = new Map(
    gateways.map((evaluated) => [`${evaluated.gateway.metadata.namespace}/${evaluated.gateway.metadata.name}`, evaluated]),
  )
  const routes: GatewayEvaluation['routes'][number][] = []
  for (const [kind, objects] of [
    ['HTTPRoute', world.httpRoutes],
    ['GRPCRoute', world.grpcRoutes ?? []],
  ] as const)
    for (const object of objects) {
      const route = yield* evaluateRoute(kind, object, byName, world)
      if (route !== undefined) routes.push(route)
      yield
    }
  const served: GatewayEvaluation['gateways'][number][] = []
  for (const evaluated of gateways) {
    served.push({ object: evaluated.gateway, status: statusOf(evaluated, world), source: sourceOf(evaluated) })
    yield
  }
  return {
    classes: classes.map((object) => ({
      object,
      status: {
        conditions: conditionsOf([yes('Accepted')], object.status?.conditions, object.metadata.generation, world.now),
        supportedFeatures,
      },
    })),
    ...{ gateways: served, routes },
    listeners: gateways.flatMap(({ listeners }) => listeners.filter(({ isUsable }) => isUsable).map(wantedOf)),
  }
}

function* evaluateRoute(
  kind: RouteKind,
  object: AnyRoute,
  gateways: ReadonlyMap<string, Evaluated>,
  world: GatewayObjects,
): Steps<GatewayEvaluation['routes'][number] | undefined> {
  const before = object.status?.parents ?? []
  const others = before.filter(({ controllerName }) => controllerName !== gatewayController)
  const order = orderOf(object)
  const rules = routesOfRules(kind, object, order, world)
  const parents: RouteParentStatus[] = []
  let places = 0
  for (const reference of object.spec.parentRefs ?? []) {
    const { group = gatewayGroup, kind: target = 'Gateway', namespace = object.metadata.namespace, name } = reference
    const evaluated = group === gatewayGroup && target === 'Gateway' ? gateways.get(`${namespace}/${name}`) : undefined
    // Somebody else's Gateway is somebody else's business.
    if (evaluated === undefined) continue
    const { attachments, accepted } = attachRoute(kind, object, reference, evaluated.gateway, evaluated.listeners, world)
    let refused = accepted.status === 'True' ? rules.unusable : undefined
    for (const { evaluated: listener, hosts } of attachments) {
      yield
      evaluated.attached.set(listener, (evaluated.attached.get(listener) ?? 0) + 1)
      if (!listener.isUsable) continue
      places += hosts.length * rules.routes.length
      if (places > mostPlaces) {
        refused ??= no('Accepted', 'UnsupportedValue', `matches times hosts times listeners are more than ${mostPlaces}`)
        continue
      }
      for (const host of hosts) {
        const listenerHost = (listener.listener.hostname ?? '').toLowerCase()
        const site = { listener: listener.key, listenerHost, host, wildcard: 'labels' as const, routes: [] }
        const { routes } = evaluated.sites.getOrInsert(siteKey(site), site)
        for (const route of rules.routes) routes.push(route)
      }
      evaluated.backends.push(...rules.backends)
    }
    const old = before.find((each) => each.controllerName === gatewayController && isSameParent(each.parentRef, reference))
    const resolved: ConditionState = rules.problem ?? yes('ResolvedRefs', 'ResolvedRefs', 'All references are resolved')
    const conditions = conditionsOf([refused ?? accepted, resolved], old?.conditions, object.metadata.generation, world.now)
    parents.push({ parentRef: reference, controllerName: gatewayController, conditions })
  }
  // Nothing is said of a route that was never ours.
  if (parents.length === 0 && others.length === before.length) return undefined
  return { kind, object, status: { parents: [...others, ...parents] } }
}

const isSameParent = (one: ParentReference, other: ParentReference): boolean =>
  one.name === other.name && one.namespace === other.namespace && one.sectionName === other.sectionName && one.port === other.port

function sourceOf({ listeners, sites, backends }: Evaluated): Source {
  // What is for the host of a listener is not another one's, though the listener has no route for it.
  for (const { isUsable, key, listener } of listeners) {
    if (!isUsable || !listener.hostname) continue
    const host = listener.hostname.toLowerCase()
    const site = { listener: key, listenerHost: host, host, wildcard: 'labels' as const, routes: [] }
    if (!sites.has(siteKey(site))) sites.set(siteKey(site), site)
  }
  return { sites: [...sites.values()], backends, certificates: listeners.flatMap(({ certificates }) => certificates) }
}

function statusOf({ gateway, listeners, attached, address }: Evaluated, world: GatewayObjects): NonNullable<Gateway['status']> {
  const { generation } = gateway.metadata
  const before = gateway.status
  const { addresses, problem = parametersProblem(gateway) } = address === undefined ? addressesOf(gateway, world) : { addresses: [address] }
  const states = listeners.map((evaluated) => {
    const { listener, key, kinds, conditionStates, isUsable } = evaluated
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
      isValid: conditionStates.every(({ type, status }) => status === (type === 'Conflicted' ? 'False' : 'True')),
      isProgrammed: programmed.status === 'True',
      status: {
        name: listener.name,
        supportedKinds: kinds.map((kind) => ({ group: gatewayGroup, kind })),
        attachedRoutes: attached.get(evaluated) ?? 0,
        conditions: conditionsOf([...conditionStates, programmed], old?.conditions, generation, world.now),
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
            ...defined({ status: states.some(({ isValid }) => isValid) ? undefined : ('False' as const) }),
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

/** There is nothing that parameters could say to this proxy. */
function parametersProblem({ spec }: Gateway): ConditionState | undefined {
  const { kind, name } = spec.infrastructure?.parametersRef ?? {}
  return kind === undefined ? undefined : no('Accepted', 'InvalidParameters', `parameters of kind ${kind} are not supported: ${name}`)
}

/** Addresses may be asked for, of those that the proxy has. */
function addressesOf({ spec }: Gateway, { addresses }: GatewayObjects): { addresses: readonly string[]; problem?: ConditionState } {
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
