/** What one object (an Ingress, a Gateway with its routes) asks of the proxy. */
import type { BackendProtocol } from '#ingress/data-plane/backend.ts'
import type { Site } from '#ingress/routing/route.ts'

export type BackendReference = {
  readonly namespace: string
  readonly service: string
  /** The name or the number of the service's port. */
  readonly port: string | number
  /** In place of what the service says of its port. */
  readonly protocol?: BackendProtocol | undefined
}

export const backendKey = ({ namespace, service, port, protocol }: BackendReference): string =>
  `${namespace}/${service}:${port}${protocol === undefined ? '' : ` ${protocol}`}`

export type CertificateReference = {
  readonly listener: string
  /** Empty: any. */
  readonly host: string
  /** `namespace/name` of the secret. */
  readonly secret: string
  /** Of several for one host the first in this order counts. */
  readonly order: string
}

export type Source = {
  readonly sites: readonly Site[]
  readonly backends: readonly BackendReference[]
  readonly certificates: readonly CertificateReference[]
}

/** Older objects come first, then by name. */
export const orderOf = ({ metadata }: { metadata?: { creationTimestamp?: string; namespace?: string; name?: string } }): string =>
  `${metadata?.creationTimestamp ?? ''} ${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`
