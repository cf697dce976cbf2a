import { Binding } from '#api/core/v1/binding.ts'
import { ComponentStatus } from '#api/core/v1/component-status.ts'
import { ConfigMap } from '#api/core/v1/config-map.ts'
import { Endpoints } from '#api/core/v1/endpoints.ts'
import { Event } from '#api/core/v1/event.ts'
import { LimitRange } from '#api/core/v1/limit-range.ts'
import { Namespace } from '#api/core/v1/namespace.ts'
import { Node } from '#api/core/v1/node/node.ts'
import { PersistentVolume } from '#api/core/v1/persistent-volume/persistent-volume.ts'
import { PersistentVolumeClaim } from '#api/core/v1/persistent-volume-claim/persistent-volume-claim.ts'
import { Pod } from '#api/core/v1/pod/pod.ts'
import { PodTemplate } from '#api/core/v1/pod-template.ts'
import { ReplicationController } from '#api/core/v1/replication-controller.ts'
import { ResourceQuota } from '#api/core/v1/resource-quota.ts'
import { Secret } from '#api/core/v1/secret/secret.ts'
import { Service } from '#api/core/v1/service/service.ts'
import { ServiceAccount } from '#api/core/v1/service-account.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const coreV1: readonly ResourceDefinition[] = [
  Binding,
  ComponentStatus,
  ConfigMap,
  Endpoints,
  Event,
  LimitRange,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodTemplate,
  ReplicationController,
  ResourceQuota,
  Secret,
  Service,
  ServiceAccount,
]
