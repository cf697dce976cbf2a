import { sameShape } from '#api/meta/same-shape.ts'
import { DeviceTaintRule } from '#api/resource/v1alpha3/kinds.gen.ts'
import { resourcePoolStatusRequestResource } from '#api/resource/v1alpha3/resource-pool-status-request.ts'
import { deviceTaintRuleResource as deviceTaintRuleV1beta2 } from '#api/resource/v1beta2/device-taint-rule.ts'
import { defineResource, type ResourceDefinition } from '#api/resource.ts'

const deviceTaintRuleResource = defineResource(DeviceTaintRule, {
  ...deviceTaintRuleV1beta2,
  storedAs: sameShape(deviceTaintRuleV1beta2, 'v1alpha3'),
})

export const resourceV1alpha3: readonly ResourceDefinition[] = [deviceTaintRuleResource, resourcePoolStatusRequestResource]
