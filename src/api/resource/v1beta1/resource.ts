import { sameShape } from '#api/meta/same-shape.ts'
import { deviceClassResource as deviceClassV1 } from '#api/resource/v1/device-class.ts'
import { resourceClaimResource as resourceClaimV1 } from '#api/resource/v1/resource-claim.ts'
import { resourceClaimTemplateResource as resourceClaimTemplateV1 } from '#api/resource/v1/resource-claim-template.ts'
import { resourceSliceResource as resourceSliceV1 } from '#api/resource/v1/resource-slice.ts'
import type { V1ResourceClaim, V1ResourceClaimTemplate, V1ResourceSlice } from '#api/resource/v1/types.gen.ts'
import { claimSpecFromV1, claimSpecToV1, sliceSpecFromV1, sliceSpecToV1 } from '#api/resource/v1beta1/convert.ts'
import { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from '#api/resource/v1beta1/kinds.gen.ts'
import type { V1beta1ResourceClaim, V1beta1ResourceClaimTemplate, V1beta1ResourceSlice } from '#api/resource/v1beta1/types.gen.ts'
import { defineResource, type ResourceDefinition } from '#api/resource.ts'

const group = 'resource.k8s.io'
const version = 'v1beta1'
const stability = 'beta'
const apiVersion = `${group}/${version}`
const storedApiVersion = `${group}/v1`
const shared = {
  group,
  version,
  stability,
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  returnsDeletedObject: true,
} as const

const deviceClassResource = defineResource(DeviceClass, {
  ...deviceClassV1,
  storedAs: sameShape(deviceClassV1, version),
})

export const resourceClaimResource = defineResource(ResourceClaim, {
  ...shared,
  storedAs: {
    definition: resourceClaimV1,
    toStored: (claim: V1beta1ResourceClaim) => ({ ...claim, apiVersion: storedApiVersion, spec: claimSpecToV1(claim.spec ?? {}) }),
    fromStored: (claim: V1ResourceClaim) => ({ ...claim, apiVersion, spec: claimSpecFromV1(claim.spec) }),
  },
})

export const resourceClaimTemplateResource = defineResource(ResourceClaimTemplate, {
  ...shared,
  storedAs: {
    definition: resourceClaimTemplateV1,
    toStored: (template: V1beta1ResourceClaimTemplate) => ({
      ...template,
      apiVersion: storedApiVersion,
      spec: { ...template.spec, spec: claimSpecToV1(template.spec?.spec ?? {}) },
    }),
    fromStored: (template: V1ResourceClaimTemplate) => ({
      ...template,
      apiVersion,
      spec: { ...template.spec, spec: claimSpecFromV1(template.spec.spec) },
    }),
  },
})

export const resourceSliceResource = defineResource(ResourceSlice, {
  ...shared,
  fieldSelectors: {
    'spec.nodeName': ({ spec }) => spec.nodeName ?? '',
    'spec.driver': ({ spec }) => spec.driver,
  },
  storedAs: {
    definition: resourceSliceV1,
    toStored: (slice: V1beta1ResourceSlice) => ({ ...slice, apiVersion: storedApiVersion, spec: sliceSpecToV1(slice.spec ?? {}) }),
    fromStored: (slice: V1ResourceSlice) => ({ ...slice, apiVersion, spec: sliceSpecFromV1(slice.spec) }),
  },
})

export const resourceV1beta1: readonly ResourceDefinition[] = [
  deviceClassResource,
  resourceClaimResource,
  resourceClaimTemplateResource,
  resourceSliceResource,
]
