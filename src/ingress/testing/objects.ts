/** Objects that tests of the controllers are about. */
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { V1Ingress, V1IngressSpec } from '#api/networking/v1/types.gen.ts'

export const aService = (name: string, ports: NonNullable<V1Service['spec']>['ports'] = [{ name: 'http', port: 80 }]): V1Service => ({
  metadata: { name, namespace: 'default' },
  spec: { ports },
})

type Condition = { ready?: boolean; serving?: boolean; terminating?: boolean }

export const aSlice = (service: string, endpoints: Record<string, Condition>, port = 8080): V1EndpointSlice => ({
  metadata: { name: `${service}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port, protocol: 'TCP' }],
  endpoints: Object.entries(endpoints).map(([address, conditions]) => ({ addresses: [address], conditions })),
})

export const anIngress = (name: string, spec: V1IngressSpec, annotations: Record<string, string> = {}): V1Ingress => ({
  metadata: { name, namespace: 'default', annotations, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec,
})

export const toService = (name: string, port: string | number = 80) => ({
  service: { name, port: typeof port === 'number' ? { number: port } : { name: port } },
})
