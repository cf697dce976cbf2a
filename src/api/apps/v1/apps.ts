import { controllerRevisionResource } from '#api/apps/v1/controller-revision.ts'
import { daemonSetResource } from '#api/apps/v1/daemon-set.ts'
import { deploymentResource } from '#api/apps/v1/deployment.ts'
import { replicaSetResource } from '#api/apps/v1/replica-set.ts'
import { statefulSetResource } from '#api/apps/v1/stateful-set.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const appsV1: readonly ResourceDefinition[] = [
  controllerRevisionResource,
  daemonSetResource,
  deploymentResource,
  replicaSetResource,
  statefulSetResource,
]
