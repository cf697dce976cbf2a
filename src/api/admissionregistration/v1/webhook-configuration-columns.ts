import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import type { Column, KubernetesObject } from '#api/resource.ts'

type WebhookConfiguration = KubernetesObject & { webhooks?: readonly unknown[] }

export const webhookConfigurationColumns: readonly Column<WebhookConfiguration>[] = [
  nameColumn,
  {
    name: 'Webhooks',
    type: 'integer',
    description: 'Webhooks indicates the number of webhooks registered in this configuration',
    cell: ({ webhooks }) => webhooks?.length ?? 0,
  },
  ageColumn,
]
