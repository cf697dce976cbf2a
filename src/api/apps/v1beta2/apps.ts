import { ControllerRevision } from '#api/apps/v1/controller-revision.ts'
import { DaemonSet } from '#api/apps/v1/daemon-set.ts'
import { Deployment } from '#api/apps/v1/deployment.ts'
import { ReplicaSet } from '#api/apps/v1/replica-set.ts'
import { StatefulSet } from '#api/apps/v1/stateful-set.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const old = { version: 'v1beta2', deprecated: { deprecatedIn: '1.9', removedIn: '1.16' } } as const
const scaleKind = { group: 'apps', version: 'v1beta2', kind: 'Scale', schema: 'io.k8s.api.apps.v1beta2.Scale' } as const

/** What became v1, but for what a delete does to dependents when it does not say. */
export const appsV1beta2: readonly ResourceDefinition[] = [
  legacyVersion(ControllerRevision, old),
  legacyVersion(DaemonSet, { ...old, defaultPropagation: 'Orphan' }),
  legacyVersion(Deployment, { ...old, defaultPropagation: 'Orphan', scaleKind }),
  legacyVersion(ReplicaSet, { ...old, defaultPropagation: 'Orphan', scaleKind }),
  legacyVersion(StatefulSet, { ...old, defaultPropagation: 'Orphan', scaleKind }),
]
