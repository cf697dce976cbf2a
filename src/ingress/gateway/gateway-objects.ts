/** What the gateway controller knows when it decides: all of it is given, so that the decision is a pure function. */
import type { V1Namespace, V1Service } from '#api/core/v1/types.gen.ts'
import type { CertificatePair } from '#ingress/data-plane/certificate-table.ts'
import type { Gateway, GatewayClass, GrpcRoute, HttpRoute, ReferenceGrant } from '#ingress/gateway/kinds.ts'

export type GatewayObjects = {
  readonly classes: readonly GatewayClass[]
  readonly gateways: readonly Gateway[]
  readonly httpRoutes: readonly HttpRoute[]
  /** Undefined where the kind is not defined. */
  readonly grpcRoutes: readonly GrpcRoute[] | undefined
  readonly grants: readonly ReferenceGrant[]
  namespace(name: string): V1Namespace | undefined
  service(namespace: string, name: string): V1Service | undefined
  certificate(secret: string): CertificatePair | undefined
  /** Where clients find the proxy. */
  readonly addresses: readonly string[]
  /** For Gateways that want what another one has. */
  readonly spareAddresses?: readonly string[]
  /** What ports 80 and 443 of a Gateway are on this machine. */
  readonly httpPort: number
  readonly httpsPort: number
  /** Of a listener in the routing table: why it cannot be reached; undefined where it can, or will be. */
  problemOf(listener: string): string | undefined
  isOpen(listener: string): boolean
  readonly now: string
}

type Reference = { group: string; kind: string; namespace: string }

/** Within a namespace everybody may refer to everything; from another one only where the other side says so. */
export function isGranted(from: Reference, to: Reference & { name: string }, grants: readonly ReferenceGrant[]): boolean {
  if (from.namespace === to.namespace) return true
  return grants.some(
    ({ metadata, spec }) =>
      metadata.namespace === to.namespace &&
      spec.from.some((each) => each.group === from.group && each.kind === from.kind && each.namespace === from.namespace) &&
      spec.to.some((each) => each.group === to.group && each.kind === to.kind && (!each.name || each.name === to.name)),
  )
}
