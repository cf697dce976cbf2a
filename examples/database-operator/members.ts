/** The pods of a database: each on a node of its own, told apart by their role. */
import type { Applied, coreV1 } from '#index.ts'
import type { Database } from './database.ts'

export const databaseLabel = 'db.example.com/database'
export const roleLabel = 'db.example.com/role'

export const memberName = (database: Database, index: number): string => `${database.metadata.name}-${index}`

export const memberNames = (database: Database): string[] =>
  Array.from({ length: database.spec.members }, (_, index) => memberName(database, index))

export function memberPod(database: Database, name: string, role: 'primary' | 'replica'): Applied<coreV1.V1Pod> {
  const labels = { [databaseLabel]: database.metadata.name ?? '' }
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: labels } }
  return {
    metadata: { name, labels: { ...labels, [roleLabel]: role } },
    spec: {
      containers: [{ name: 'database', image: database.spec.image }],
      affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }] } },
      // A node that is silent is given up on quickly: another member is there.
      tolerations: ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map((key) => ({
        ...{ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 },
      })),
    },
  }
}

export function isReady({ metadata, status }: coreV1.V1Pod): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false)
  )
}

/** The one that takes over: the ready member that has been ready longest, the first by name among equals. */
export function successor(pods: readonly coreV1.V1Pod[]): string | undefined {
  const since = ({ status }: coreV1.V1Pod) => status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? ''
  const [first] = pods
    .filter(isReady)
    .sort((left, right) => compare(since(left), since(right)) || compare(left.metadata.name, right.metadata.name))
  return first?.metadata.name
}

const compare = (left = '', right = ''): number => (left < right ? -1 : left > right ? 1 : 0)
