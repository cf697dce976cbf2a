import { ControllerRevision } from '#api/apps/v1/controller-revision.ts'
import { DaemonSet } from '#api/apps/v1/daemon-set.ts'
import { Deployment } from '#api/apps/v1/deployment.ts'
import { ReplicaSet } from '#api/apps/v1/replica-set.ts'
import { StatefulSet } from '#api/apps/v1/stateful-set.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const appsV1: readonly ResourceDefinition[] = [ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet]
