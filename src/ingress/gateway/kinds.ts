/** The Gateway API's kinds, as far as they are acted on. Their definitions are installed by whoever wants them. */
import type { Kind } from '#api/kind.ts'
import type { V1Condition, V1LabelSelector, V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

export const gatewayGroup = 'gateway.networking.k8s.io'

type Named<Spec, Status> = { kind?: string; apiVersion?: string; metadata: V1ObjectMeta; spec: Spec; status?: Status }

export type GatewayClass = Named<{ controllerName: string }, { conditions?: V1Condition[]; supportedFeatures?: { name: string }[] }>

export type GatewayListener = {
  name: string
  hostname?: string
  port: number
  protocol: string
  tls?: { mode?: string; certificateRefs?: { group?: string; kind?: string; name: string; namespace?: string }[] }
  allowedRoutes?: { namespaces?: { from?: string; selector?: V1LabelSelector }; kinds?: { group?: string; kind: string }[] }
}

export type ListenerStatus = {
  name: string
  supportedKinds: { group: string; kind: string }[]
  attachedRoutes: number
  conditions: V1Condition[]
}

export type Gateway = Named<
  {
    gatewayClassName: string
    listeners: GatewayListener[]
    addresses?: { type?: string; value?: string }[]
    infrastructure?: { parametersRef?: { group: string; kind: string; name: string } }
  },
  { addresses?: { type?: string; value: string }[]; conditions?: V1Condition[]; listeners?: ListenerStatus[] }
>

export type ParentReference = { group?: string; kind?: string; namespace?: string; name: string; sectionName?: string; port?: number }
export type RouteParentStatus = { parentRef: ParentReference; controllerName: string; conditions: V1Condition[] }
export type BackendObjectReference = { group?: string; kind?: string; name: string; namespace?: string; port?: number }

type HeaderFilter = { set?: { name: string; value: string }[]; add?: { name: string; value: string }[]; remove?: string[] }
type PathModifier = { type: string; replaceFullPath?: string; replacePrefixMatch?: string }

export type RouteFilter = {
  type: string
  requestHeaderModifier?: HeaderFilter
  responseHeaderModifier?: HeaderFilter
  requestMirror?: { backendRef: BackendObjectReference; percent?: number; fraction?: { numerator: number; denominator?: number } }
  requestRedirect?: { scheme?: string; hostname?: string; port?: number; statusCode?: number; path?: PathModifier }
  urlRewrite?: { hostname?: string; path?: PathModifier }
}

type WeightedReference = BackendObjectReference & { weight?: number; filters?: RouteFilter[] }
type Match = { type?: string; name: string; value: string }

export type HttpRouteRule = {
  matches?: { path?: { type?: string; value?: string }; headers?: Match[]; queryParams?: Match[]; method?: string }[]
  filters?: RouteFilter[]
  backendRefs?: WeightedReference[]
  timeouts?: { request?: string; backendRequest?: string }
}

export type GrpcRouteRule = {
  matches?: { method?: { type?: string; service?: string; method?: string }; headers?: Match[] }[]
  filters?: RouteFilter[]
  backendRefs?: WeightedReference[]
}

export type RouteOf<Rule> = Named<
  { parentRefs?: ParentReference[]; hostnames?: string[]; rules?: Rule[] },
  { parents?: RouteParentStatus[] }
>
export type HttpRoute = RouteOf<HttpRouteRule>
export type GrpcRoute = RouteOf<GrpcRouteRule>

export type ReferenceGrant = Named<
  { from: { group: string; kind: string; namespace: string }[]; to: { group: string; kind: string; name?: string }[] },
  undefined
>

const shared = { group: gatewayGroup, version: 'v1', schema: '' }

export const GatewayClass: Kind<GatewayClass> = { ...shared, kind: 'GatewayClass', plural: 'gatewayclasses', scope: 'Cluster' }
export const Gateway: Kind<Gateway> = { ...shared, kind: 'Gateway', plural: 'gateways', scope: 'Namespaced' }
export const HttpRoute: Kind<HttpRoute> = { ...shared, kind: 'HTTPRoute', plural: 'httproutes', scope: 'Namespaced' }
export const GrpcRoute: Kind<GrpcRoute> = { ...shared, kind: 'GRPCRoute', plural: 'grpcroutes', scope: 'Namespaced' }
export const ReferenceGrant: Kind<ReferenceGrant> = {
  ...{ ...shared, version: 'v1beta1', kind: 'ReferenceGrant', plural: 'referencegrants', scope: 'Namespaced' },
}
