/** The table of pods. */

import { podStatusSummary } from '#api/core/v1/pod/status-summary.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { humanDuration } from '#api/meta/human-duration.ts'
import type { Column, RowCondition } from '#api/resource.ts'

export const podColumns: readonly Column<V1Pod>[] = [
  nameColumn,
  {
    name: 'Ready',
    type: 'string',
    description: 'The aggregate readiness state of this pod for accepting traffic.',
    cell(pod) {
      const { readyContainers, totalContainers } = podStatusSummary(pod)
      return `${readyContainers}/${totalContainers}`
    },
  },
  {
    name: 'Status',
    type: 'string',
    description: 'The aggregate status of the containers in this pod.',
    cell: (pod) => podStatusSummary(pod).reason,
  },
  {
    name: 'Restarts',
    type: 'string',
    description:
      'The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.',
    cell(pod, { nowMs }) {
      const { restarts, lastRestartMs } = podStatusSummary(pod)
      if (restarts === 0 || lastRestartMs === undefined) return String(restarts)
      return `${restarts} (${humanDuration(nowMs - lastRestartMs)} ago)`
    },
  },
  ageColumn,
  {
    name: 'IP',
    type: 'string',
    priority: 1,
    description: { field: 'PodStatus.podIP' },
    cell: ({ status }) => status?.podIPs?.[0]?.ip || '<none>',
  },
  {
    name: 'Node',
    type: 'string',
    priority: 1,
    description: { field: 'PodSpec.nodeName' },
    cell: ({ spec }) => spec?.nodeName || '<none>',
  },
  {
    name: 'Nominated Node',
    type: 'string',
    priority: 1,
    description: { field: 'PodStatus.nominatedNodeName' },
    cell: ({ status }) => status?.nominatedNodeName || '<none>',
  },
  {
    name: 'Readiness Gates',
    type: 'string',
    priority: 1,
    description: { field: 'PodSpec.readinessGates' },
    cell({ spec, status }) {
      const gates = spec?.readinessGates ?? []
      if (gates.length === 0) return '<none>'
      const conditions = status?.conditions ?? []
      const isOpen = (type: string) => isConditionTrue(conditions, type)
      return `${gates.filter(({ conditionType }) => isOpen(conditionType)).length}/${gates.length}`
    },
  },
]

const ended: Record<string, string> = { Succeeded: 'The pod has completed successfully.', Failed: 'The pod failed.' }

export function podRowConditions({ status }: V1Pod): readonly RowCondition[] {
  const reason = status?.phase ?? ''
  const message = ended[reason]
  return message === undefined ? [] : [{ type: 'Completed', status: 'True', reason, message }]
}
