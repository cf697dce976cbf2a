import { typeName } from '#api/extensions/v1beta1/older-types.ts'
import type { ClusterKind } from '#api/kind.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'

export type V1beta1ThirdPartyResource = {
  kind?: string
  apiVersion?: string
  metadata: V1ObjectMeta
  description?: string
  versions?: { name?: string }[]
}

/** What custom kinds were declared with before there were definitions. The server makes a definition of each. */
export const ThirdPartyResource: ClusterKind<V1beta1ThirdPartyResource> = {
  group: 'extensions',
  version: 'v1beta1',
  kind: 'ThirdPartyResource',
  plural: 'thirdpartyresources',
  scope: 'Cluster',
  schema: typeName('ThirdPartyResource'),
  stability: 'legacy',
}

/** The name tells kind and group: `cron-tab.stable.example.com` is a CronTab. */
export function kindOfThirdParty(name: string): { group: string; kind: string } | undefined {
  const [first = '', ...group] = name.split('.')
  if (group.length < 2) return undefined
  const kind = first.replace(/(^|-)([a-z0-9])/g, (_, __, char: string) => char.toUpperCase())
  return { group: group.join('.'), kind }
}
