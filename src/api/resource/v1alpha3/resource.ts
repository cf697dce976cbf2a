import { sameShape } from '#api/meta/same-shape.ts'
import { ResourcePoolStatusRequest } from '#api/resource/v1alpha3/resource-pool-status-request.ts'
import type { V1alpha3DeviceTaintRule } from '#api/resource/v1alpha3/types.gen.ts'
import { DeviceTaintRule as DeviceTaintRuleV1beta2 } from '#api/resource/v1beta2/device-taint-rule.ts'
import { defineResource, type ResourceDefinition } from '#api/resource.ts'

export const DeviceTaintRule = defineResource<V1alpha3DeviceTaintRule>({
  ...DeviceTaintRuleV1beta2,
  version: 'v1alpha3',
  stability: 'alpha',
  schema: 'io.k8s.api.resource.v1alpha3.DeviceTaintRule',
  storedAs: sameShape(DeviceTaintRuleV1beta2, 'v1alpha3'),
})

export const resourceV1alpha3: readonly ResourceDefinition[] = [DeviceTaintRule, ResourcePoolStatusRequest]
