import { controllerRevisionResource } from '#api/apps/v1/controller-revision.ts'
import { daemonSetResource } from '#api/apps/v1/daemon-set.ts'
import { deploymentResource } from '#api/apps/v1/deployment.ts'
import { replicaSetResource } from '#api/apps/v1/replica-set.ts'
import { statefulSetResource } from '#api/apps/v1/stateful-set.ts'
import { legacyVersion } from '#api/meta/legacy-version.ts'
import type { ResourceDefinition } from '#api/resource.ts'

const old = { version: 'v1beta2', deprecated: { deprecatedIn: '1.9', removedIn: '1.16' } } as const
const scaleKind = { group: 'apps', version: 'v1beta2', kind: 'Scale', schema: 'io.k8s.api.apps.v1beta2.Scale' } as const

/** What became v1, but for what a delete does to dependents when it does not say. */
export const appsV1beta2: readonly ResourceDefinition[] = [
  legacyVersion(controllerRevisionResource, old),
  legacyVersion(daemonSetResource, { ...old, defaultPropagation: 'Orphan' }),
  legacyVersion(deploymentResource, { ...old, defaultPropagation: 'Orphan', scaleKind }),
  legacyVersion(replicaSetResource, { ...old, defaultPropagation: 'Orphan', scaleKind }),
  legacyVersion(statefulSetResource, { ...old, defaultPropagation: 'Orphan', scaleKind }),
]
