/** The table of services. */
import { selectorLabelsText } from '#api/core/v1/labels-text.ts'
import type { V1Service, V1ServicePort } from '#api/core/v1/types.gen.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import type { Column } from '#api/resource.ts'

export const serviceColumns: readonly Column<V1Service>[] = [
  nameColumn,
  { name: 'Type', type: 'string', description: { field: 'ServiceSpec.type' }, cell: ({ spec }) => spec?.type ?? '' },
  {
    name: 'Cluster-IP',
    type: 'string',
    description: { field: 'ServiceSpec.clusterIP' },
    cell: ({ spec }) => spec?.clusterIPs?.[0] ?? '<none>',
  },
  { name: 'External-IP', type: 'string', description: { field: 'ServiceSpec.externalIPs' }, cell: externalAddresses },
  {
    name: 'Port(s)',
    type: 'string',
    description: { field: 'ServiceSpec.ports' },
    cell: ({ spec }) => (spec?.ports ?? []).map(portText).join(',') || '<none>',
  },
  ageColumn,
  {
    name: 'Selector',
    type: 'string',
    priority: 1,
    description: { field: 'ServiceSpec.selector' },
    cell: ({ spec }) => selectorLabelsText(spec?.selector),
  },
]

function portText({ port, nodePort = 0, protocol = '' }: V1ServicePort): string {
  return nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port ?? 0}/${protocol}`
}

function externalAddresses({ spec, status }: V1Service): string {
  const given = spec?.externalIPs ?? []
  switch (spec?.type) {
    case 'ClusterIP':
    case 'NodePort':
      return given.join(',') || '<none>'
    case 'LoadBalancer': {
      const ofBalancer = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '').filter(Boolean)
      return [...[...new Set(ofBalancer)].sort(), ...given].join(',') || '<pending>'
    }
    case 'ExternalName':
      return spec.externalName ?? ''
    default:
      return '<unknown>'
  }
}
