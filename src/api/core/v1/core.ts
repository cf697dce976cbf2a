import { bindingResource } from '#api/core/v1/binding.ts'
import { componentStatusResource } from '#api/core/v1/component-status.ts'
import { configMapResource } from '#api/core/v1/config-map.ts'
import { endpointsResource } from '#api/core/v1/endpoints.ts'
import { eventResource } from '#api/core/v1/event.ts'
import { limitRangeResource } from '#api/core/v1/limit-range.ts'
import { namespaceResource } from '#api/core/v1/namespace.ts'
import { nodeResource } from '#api/core/v1/node/node.ts'
import { persistentVolumeResource } from '#api/core/v1/persistent-volume/persistent-volume.ts'
import { persistentVolumeClaimResource } from '#api/core/v1/persistent-volume-claim/persistent-volume-claim.ts'
import { podResource } from '#api/core/v1/pod/pod.ts'
import { podTemplateResource } from '#api/core/v1/pod-template.ts'
import { replicationControllerResource } from '#api/core/v1/replication-controller.ts'
import { resourceQuotaResource } from '#api/core/v1/resource-quota.ts'
import { secretResource } from '#api/core/v1/secret/secret.ts'
import { serviceResource } from '#api/core/v1/service/service.ts'
import { serviceAccountResource } from '#api/core/v1/service-account.ts'
import type { ResourceDefinition } from '#api/resource.ts'

export const coreV1: readonly ResourceDefinition[] = [
  bindingResource,
  componentStatusResource,
  configMapResource,
  endpointsResource,
  eventResource,
  limitRangeResource,
  namespaceResource,
  nodeResource,
  persistentVolumeResource,
  persistentVolumeClaimResource,
  podResource,
  podTemplateResource,
  replicationControllerResource,
  resourceQuotaResource,
  secretResource,
  serviceResource,
  serviceAccountResource,
]
