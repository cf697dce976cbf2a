import { ComponentStatus } from '#api/core/v1/kinds.gen.ts'
import type { V1ComponentCondition, V1ComponentStatus } from '#api/core/v1/types.gen.ts'
import { nameColumn } from '#api/meta/columns.ts'
import { findCondition } from '#api/meta/find-condition.ts'
import { defineResource } from '#api/resource.ts'

/** What the server finds when it looks at its companions: never stored. */
export const componentStatusResource = defineResource(ComponentStatus, {
  deprecated: { deprecatedIn: '1.19' },

  columns: [
    nameColumn,
    {
      name: 'Status',
      type: 'string',
      description: 'Status of the component conditions',
      cell(object) {
        const condition = healthOf(object)
        if (condition === undefined) return 'Unknown'
        return condition.status === 'True' ? 'Healthy' : 'Unhealthy'
      },
    },
    {
      name: 'Message',
      type: 'string',
      description: 'Message of the component conditions',
      cell: (object) => healthOf(object)?.message ?? '',
    },
    { name: 'Error', type: 'string', description: 'Error of the component conditions', cell: (object) => healthOf(object)?.error ?? '' },
  ],
})

const healthOf = ({ conditions }: V1ComponentStatus): V1ComponentCondition | undefined => findCondition(conditions, 'Healthy')
