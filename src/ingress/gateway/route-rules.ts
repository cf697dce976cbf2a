/** Rules of HTTPRoute and GRPCRoute in the proxy's words. */

import { aboutInstructions } from '#api/meta/go-pattern.ts'
import { defined } from '#base/defined.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { type BackendReference, backendKey } from '#ingress/controller/source.ts'
import { type ConditionState, no } from '#ingress/gateway/conditions.ts'
import { type GatewayObjects, isGranted } from '#ingress/gateway/gateway-objects.ts'
import { type BackendObjectReference, type GrpcRouteRule, gatewayGroup, type HttpRouteRule, type RouteOf } from '#ingress/gateway/kinds.ts'
import { changesOf, mirrorsOf, redirectOf, unknownFilter, unusableFilter } from '#ingress/gateway/route-filters.ts'
import type { PathMatch, Route, ValueMatch, WeightedBackend } from '#ingress/routing/route.ts'

export type RouteKind = 'HTTPRoute' | 'GRPCRoute'

export type RuleRoutes = {
  readonly routes: readonly Route[]
  readonly backends: readonly BackendReference[]
  /** The first reference that leads nowhere. */
  readonly problem: ConditionState | undefined
  /** The first value that cannot be used; requests for its rule fail. */
  readonly unusable: ConditionState | undefined
}

const padded = (number: number): string => String(number).padStart(4, '0')

/** What the rules of a route come to. */
export function routesOfRules(
  kind: RouteKind,
  route: RouteOf<HttpRouteRule | GrpcRouteRule>,
  order: string,
  world: GatewayObjects,
): RuleRoutes {
  const namespace = route.metadata.namespace ?? ''
  const backends = new Map<string, BackendReference>()
  let problem: ConditionState | undefined
  let unusable: ConditionState | undefined
  const keyFor = (reference: BackendObjectReference): string => {
    const found = resolve(kind, namespace, reference, world)
    if ('reason' in found) {
      problem ??= found
      return ''
    }
    backends.set(backendKey(found), found)
    return backendKey(found)
  }
  const routes = (route.spec.rules ?? []).flatMap((rule, ruleIndex) => {
    const filters = rule.filters ?? []
    const bad = unknownFilter(filters)
    if (bad !== undefined) problem ??= no('ResolvedRefs', 'InvalidKind', `filter ${bad.type} is not supported`)
    const wrong = unusableFilter([...filters, ...(rule.backendRefs ?? []).flatMap((reference) => reference.filters ?? [])])
    const matches = kind === 'HTTPRoute' ? httpMatches(rule as HttpRouteRule) : grpcMatches(rule as GrpcRouteRule)
    const tooLarge = tooLargePattern(matches)
    const why = wrong ?? (tooLarge === undefined ? undefined : `the expression ${tooLarge} is too large`)
    if (why !== undefined) unusable ??= no('Accepted', 'UnsupportedValue', why)
    // Such a rule matches nothing, as one whose expression cannot be read.
    if (tooLarge !== undefined) return []
    const isServed = bad === undefined && why === undefined
    const weighted = (rule.backendRefs ?? []).map(({ weight = 1, filters: own = [], ...reference }): WeightedBackend => {
      return { backend: unknownFilter(own) === undefined ? keyFor(reference) : '', weight, ...changesOf(own) }
    })
    const timeouts = 'timeouts' in rule ? timeoutsOf(rule.timeouts) : undefined
    const redirect = isServed ? redirectOf(filters) : undefined
    const mirrors = isServed ? mirrorsOf(filters, keyFor) : []
    const shared = {
      ...{ name: `${kind} ${namespace}/${route.metadata.name}`, ...(isServed ? changesOf(filters) : {}) },
      // A filter that is not understood may not be left out: such requests fail.
      backends: isServed ? weighted : [],
      ...defined({ redirect, timeouts }),
      ...omitEmpty({ mirrors }),
    }
    return matches.map((match, index): Route => ({ ...shared, ...match, order: `${order} ${padded(ruleIndex)} ${padded(index)}` }))
  })
  return { routes, backends: [...backends.values()], problem, unusable }
}

/** Matching takes as many steps as the expression has instructions, for each character. */
const mostInstructions = 500

function tooLargePattern(matches: readonly RouteMatch[]): string | undefined {
  const patterns = matches.flatMap(({ path, headers = [], query = [] }) => [path, ...headers, ...query])
  const isTooLarge = ({ type, value }: PathMatch | ValueMatch) =>
    type === 'RegularExpression' && aboutInstructions(value) > mostInstructions
  return patterns.find(isTooLarge)?.value
}

function resolve(
  kind: RouteKind,
  own: string,
  reference: BackendObjectReference,
  world: GatewayObjects,
): BackendReference | ConditionState {
  const { group = '', kind: target = 'Service', name, namespace = own, port } = reference
  const refused = (reason: string, message: string) => no('ResolvedRefs', reason, message)
  if (group !== '' || target !== 'Service') return refused('InvalidKind', `a backend of kind ${target} is not supported`)
  if (!isGranted({ group: gatewayGroup, kind, namespace: own }, { group, kind: target, namespace, name }, world.grants))
    return refused('RefNotPermitted', `no ReferenceGrant lets this ${kind} refer to service ${namespace}/${name}`)
  const service = world.service(namespace, name)
  // What stands for a name outside would lead requests anywhere.
  if (service === undefined || service.spec?.type === 'ExternalName') {
    return refused('BackendNotFound', `service ${namespace}/${name} not found`)
  }
  const found = service.spec?.ports?.find((each) => each.port === port)
  if (port === undefined || found === undefined) return refused('BackendNotFound', `service ${namespace}/${name} has no port ${port}`)
  // gRPC is spoken by HTTP/2 alone.
  const isSecure = /^(?:https|grpcs)$/i.test(found.appProtocol ?? '')
  return { namespace, service: name, port, ...defined({ protocol: kind === 'GRPCRoute' ? (isSecure ? 'h2' : 'h2c') : undefined }) }
}

type RouteMatch = Pick<Route, 'path' | 'headers' | 'query' | 'method'>

const everything: PathMatch = { type: 'Prefix', value: '/' }
const pathTypes: Readonly<Record<string, PathMatch['type']>> = { Exact: 'Exact', RegularExpression: 'RegularExpression' }

function httpMatches({ matches }: HttpRouteRule): RouteMatch[] {
  if (!matches?.length) return [{ path: everything }]
  return matches.map(({ path: { type = 'PathPrefix', value = '/' } = {}, headers, queryParams, method }) => ({
    path: { type: pathTypes[type] ?? 'Prefix', value },
    ...defined({
      headers: headers?.length ? valueMatches(headers, true) : undefined,
      query: queryParams?.length ? valueMatches(queryParams, false) : undefined,
    }),
    ...defined({ method }),
  }))
}

/** Of two for one name the first counts. */
function valueMatches(list: readonly { type?: string; name: string; value: string }[], ignoresCase: boolean): ValueMatch[] {
  const found = new Map<string, ValueMatch>()
  for (const { type, name, value } of list) {
    const key = ignoresCase ? name.toLowerCase() : name
    if (!found.has(key)) found.set(key, { type: type === 'RegularExpression' ? type : 'Exact', name, value })
  }
  return [...found.values()]
}

function grpcMatches({ matches }: GrpcRouteRule): RouteMatch[] {
  if (!matches?.length) return [{ path: everything }]
  return matches.map(({ method, headers }) => ({
    path: grpcPath(method),
    ...defined({ headers: headers?.length ? valueMatches(headers, true) : undefined }),
  }))
}

/** gRPC asks for `/package.Service/Method`. */
function grpcPath(match: { type?: string; service?: string; method?: string } | undefined): PathMatch {
  const { type = 'Exact', service = '', method = '' } = match ?? {}
  if (service === '' && method === '') return everything
  if (type === 'RegularExpression') return { type, value: `/${service || '[^/]+'}/${method || '[^/]+'}` }
  if (service === '') return { type: 'RegularExpression', value: `/[^/]+/${method.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}` }
  return method === '' ? { type: 'Prefix', value: `/${service}` } : { type: 'Exact', value: `/${service}/${method}` }
}

function timeoutsOf(timeouts: HttpRouteRule['timeouts']): Route['timeouts'] | undefined {
  const [requestMs, backendRequestMs] = [durationMs(timeouts?.request), durationMs(timeouts?.backendRequest)]
  if (requestMs === undefined && backendRequestMs === undefined) return undefined
  return defined({ requestMs, backendRequestMs })
}

const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const

/** `1h30m`, `500ms`: what the definition lets through. */
function durationMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const parts = [...text.matchAll(/(?<!\d)(\d+)(ms|h|m|s)/g)]
  return parts.reduce((sum, [, digits, unit]) => sum + Number(digits) * units[unit as keyof typeof units], 0)
}
