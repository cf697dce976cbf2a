/** The table of nodes. */
import type { V1Node, V1NodeSystemInfo } from '#api/core/v1/types.gen.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import type { Column } from '#api/resource.ts'

const rolePrefix = 'node-role.kubernetes.io/'
const roleLabel = 'kubernetes.io/role'

export const nodeColumns: readonly Column<V1Node>[] = [
  nameColumn,
  { name: 'Status', type: 'string', description: 'The status of the node', cell: statusText },
  { name: 'Roles', type: 'string', description: 'The roles of the node', cell: (node) => nodeRoles(node).join(',') || '<none>' },
  ageColumn,
  {
    name: 'Version',
    type: 'string',
    description: { field: 'NodeSystemInfo.kubeletVersion' },
    cell: ({ status }) => status?.nodeInfo?.kubeletVersion ?? '',
  },
  addressColumn('Internal-IP', 'InternalIP'),
  addressColumn('External-IP', 'ExternalIP'),
  systemColumn('OS-Image', 'osImage'),
  {
    name: 'Kernel-Version',
    type: 'string',
    priority: 1,
    description: { field: 'NodeSystemInfo.kernelVersion' },
    cell({ status }) {
      const { kernelVersion, architecture } = status?.nodeInfo ?? {}
      const version = kernelVersion || '<unknown>'
      return architecture ? `${version} (${architecture})` : version
    },
  },
  systemColumn('Container-Runtime', 'containerRuntimeVersion'),
]

function addressColumn(name: string, type: string): Column<V1Node> {
  return {
    name,
    type: 'string',
    priority: 1,
    description: { field: 'NodeStatus.addresses' },
    cell: ({ status }) => status?.addresses?.find((address) => address.type === type)?.address ?? '<none>',
  }
}

function systemColumn(name: string, field: keyof V1NodeSystemInfo & ('osImage' | 'containerRuntimeVersion')): Column<V1Node> {
  return {
    name,
    type: 'string',
    priority: 1,
    description: { field: `NodeSystemInfo.${field}` },
    cell: ({ status }) => status?.nodeInfo?.[field] || '<unknown>',
  }
}

function statusText({ spec, status }: V1Node): string {
  const ready = status?.conditions?.findLast(({ type }) => type === 'Ready')
  const state = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'
  return spec?.unschedulable ? `${state},SchedulingDisabled` : state
}

/** Sorted, without duplicates. */
function nodeRoles({ metadata }: V1Node): string[] {
  const roles = new Set<string>()
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    if (key.startsWith(rolePrefix)) {
      if (key.length > rolePrefix.length) roles.add(key.slice(rolePrefix.length))
    } else if (key === roleLabel && value !== '') roles.add(value)
  }
  return [...roles].sort()
}
